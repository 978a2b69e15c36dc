/** Profiles of one operator, address and coverage share an inventory; a sub-user may see a part of the SIMs. */
import { expect, test } from "vitest";
import { automations } from "#jobs/automations/feature.ts";
import type { SyncReport } from "#jobs/inventory/contract.ts";
import { inventory } from "#jobs/inventory/feature.ts";
import { runs } from "#jobs/runs/feature.ts";
import { removeUnusedInventories } from "#jobs/storage/service.ts";
import { until } from "../support/until.ts";
import { ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

const user = { userAuthKeyId: "keyId-user", userAuthKey: "secret-user" };
const credentials = {
  root: "authKeyId: keyId-sandbox, authKey: secret-sandbox",
  user: `authKeyId: ${user.userAuthKeyId}, authKey: ${user.userAuthKey}`,
};
const sims = 6;
const userSims = 2;

/** The sub-user comes first in the configuration. @param works the syncs, not those of a test that holds them back */
async function setup({ more = "", works = ["robot", "default"] }: { more?: string; works?: string[] } = {}) {
  const harness = await ControlHarness.open({
    sandbox: { sims, userSims, ...user },
    env: { SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "" },
    prepare: () =>
      Promise.resolve(`profiles:
  robot: { coverage: g, credentials: { ${credentials.user} } }
  default: { coverage: g, credentials: { ${credentials.root} } }
${more}`),
  });
  await harness.app.work(works, [inventory]);
  return harness;
}

/** Makes the operator of both known. */
async function signIn({ app }: ControlHarness): Promise<void> {
  for (const profile of ["robot", "default"]) {
    await app.kernel.account(profile).identify?.(new AbortController().signal);
  }
}

async function sync(harness: ControlHarness, profile: string): Promise<SyncReport> {
  const { syncId } = await harness.sims.sync(profile, { by: "test" });
  return ended(harness, profile, syncId);
}

async function ended(harness: ControlHarness, profile: string, syncId: string): Promise<SyncReport> {
  let report: SyncReport | undefined;
  await until("the sync ends", async () => {
    report = await harness.sims.syncReport(profile);
    return report?.syncId === syncId && report.finishedAt !== null;
  });
  return report as SyncReport;
}

async function json<T>(harness: ControlHarness, ...words: string[]): Promise<T> {
  return JSON.parse((await runCommand(harness, [...words, "--json"], "remote")).stdout) as T;
}

async function listed(harness: ControlHarness, ...words: string[]): Promise<number> {
  return (await json<{ sims: unknown[] }>(harness, "sims", "list", ...words)).sims.length;
}

/** The names of the inventories with SIMs. */
async function inventories(harness: ControlHarness): Promise<string[]> {
  const found = await harness.redis().keys("{simfleet}:sims:*");
  return found.flatMap((key) => /^\{simfleet\}:sims:([^:]+)$/.exec(key)?.[1] ?? []).toSorted();
}

test("root's sync fills the inventory of both", async () => {
  await using harness = await setup();
  expect(await sync(harness, "default")).toMatchObject({ profile: "default", sims, added: sims });
  await sync(harness, "robot");
  expect(await inventories(harness)).toEqual(["default"]);
  for (const profile of ["default", "robot"]) expect(await listed(harness, "--profile", profile)).toBe(sims);
  expect(await listed(harness, "--all-profiles")).toBe(sims);
  expect(await json(harness, "sims", "count", "--all-profiles")).toMatchObject({ total: sims });
  await sync(harness, "default");
  const { syncs } = (await (await harness.ask("/v1/syncs", { as: "viewer" })).json()) as { syncs: SyncReport[] };
  expect(syncs.map(({ profile }) => profile)).toEqual(["default"]);
});

test("a sub-user's sync marks nothing as gone, and says that it may see only a part", async () => {
  await using harness = await setup();
  await sync(harness, "default");
  const ofUser = await sync(harness, "robot");
  expect(ofUser).toMatchObject({ profile: "robot", sims: userSims, added: 0, gone: 0, state: "finished" });
  expect(ofUser.reason).toMatch(/^robot may see only a part of the SIMs/);
  const { code, stdout } = await runCommand(harness, ["sims", "sync", "--profile", "robot"], "remote");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/nothing has changed\. robot may see only/)]);
  harness.sandbox.state.sims.removed.add(sims - 1);
  expect(await sync(harness, "robot")).toMatchObject({ sims: userSims, gone: 0 });
  expect(await sync(harness, "default")).toMatchObject({ sims: sims - 1, gone: 1 });
  const { changes } = await json<{ changes: { type: string }[] }>(harness, "sims", "changes", "--profile", "robot");
  expect(changes.map(({ type }) => type)).toEqual(["sim.gone"]);
});

test("a sub-user that was known first keeps what it has, and root's first sync is the baseline", async () => {
  await using harness = await setup();
  await sync(harness, "robot");
  expect(await sync(harness, "default")).toMatchObject({ added: sims - userSims, gone: 0 });
  expect(await inventories(harness)).toEqual(["robot"]);
  expect(await json(harness, "sims", "changes")).toMatchObject({ changes: [] });
  expect(await sync(harness, "robot")).toMatchObject({ gone: 0 });
});

test("inventory.profile chooses whose sync marks SIMs as gone", async () => {
  await using harness = await setup({ more: "inventory: { profile: robot }\n" });
  expect(await sync(harness, "default")).toMatchObject({ sims, gone: 0 });
  expect(await sync(harness, "robot")).toMatchObject({ sims: userSims, gone: sims - userSims });
});

test("the inventory that a profile had before it came to share one is not shown, and is removed", async () => {
  await using harness = await setup();
  // As an earlier version left it: each has its own.
  const redis = harness.redis();
  await sync(harness, "robot");
  await redis.del("{simfleet}:inventories");
  await sync(harness, "default");
  expect(await inventories(harness)).toEqual(["default", "robot"]);
  await sync(harness, "robot");
  expect(await listed(harness, "--profile", "robot")).toBe(sims);
  await removeUnusedInventories(["default", "robot"], { ...harness.app.kernel, ...harness.app.service(inventory) });
  expect(await inventories(harness)).toEqual(["default"]);
  const left = await redis.keys("{simfleet}:sims:robot*");
  expect(left).toEqual([]);
});

test("syncs that began before the operator was known become one, root's", async () => {
  await using harness = await setup({ works: [] });
  const first = await harness.sims.sync("robot", { by: "test" });
  const second = await harness.sims.sync("default", { by: "test" });
  expect([first.profile, second.profile]).toEqual(["robot", "default"]);
  await signIn(harness);
  await harness.app.work(["robot", "default"], [inventory]);
  await until("root's sync has ended", async () => {
    const report = await harness.sims.syncReport("robot");
    return report?.profile === "default" && report.state === "finished";
  });
  expect(await listed(harness, "--profile", "robot")).toBe(sims);
});

test("a sync in progress is joined, or replaced by that of a profile that sees more", async () => {
  await using harness = await setup({ works: [] });
  await signIn(harness);
  const part = await harness.sims.sync("robot", { by: "test" });
  const whole = await harness.sims.sync("default", { by: "test" });
  expect(whole).toMatchObject({ profile: "default", state: "listing" });
  expect(whole.syncId).not.toBe(part.syncId);
  expect((await harness.sims.sync("robot", { by: "test" })).syncId).toBe(whole.syncId);
  const again = await harness.sims.sync("robot", { by: "test", mode: "restart" });
  expect(again).toMatchObject({ profile: "default", state: "listing" });
  expect(again.syncId).not.toBe(whole.syncId);
});

test("a run that was planned before the operator was known updates the shared inventory", async () => {
  await using harness = await setup();
  await sync(harness, "default");
  const runId = await harness.startRun(harness.csv(2, "s1.fast"), "?profile=robot");
  await harness.app.work(["robot"], [runs]);
  expect(await harness.ended(runId)).toMatchObject({ state: "completed", counts: { done: 2 } });
  expect(await listed(harness, "--where", "speedClass=s1.fast", "--profile", "default")).toBeGreaterThanOrEqual(2);
  const sim = await json<{ updatedBy: string }>(harness, "sims", "show", harness.simId(0), "--profile", "robot");
  expect(sim.updatedBy).toBe("run");
  expect(await inventories(harness)).toEqual(["default"]);
});

test("an automation of a sub-user's profile runs for what root's sync has found", async () => {
  await using harness = await setup({
    more: "automations:\n  new: { on: sim.added, profile: robot, job: apply, speedClass: s1.fast }\n",
  });
  await sync(harness, "default");
  await sync(harness, "robot");
  await harness.app.work([], [automations]);
  harness.sandbox.state.sims.append(1);
  expect(await sync(harness, "default")).toMatchObject({ added: 1 });
  const started = async () => (await harness.runs.list({ limit: 10 })).runs;
  await until("the automation has started a run", async () => (await started()).length > 0);
  expect(await started()).toMatchObject([{ profile: "robot", counts: { total: 1 } }]);
});
