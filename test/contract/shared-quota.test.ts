/** Several users of one operator: they share its quotas, whichever profile a call comes from. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listSims } from "#api/operations/sims.ts";
import { runs } from "#jobs/runs/feature.ts";
import type { BucketReport } from "#jobs/quota/contract.ts";
import { until } from "../support/until.ts";
import { ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

const rows = 150;
const perWindow = 200;
const user = { userAuthKeyId: "keyId-user", userAuthKey: "secret-user" };
/** The Root user and the sub-user, each by AuthKey and by password, twice. */
const forms = [
  "authKeyId: keyId-sandbox, authKey: secret-sandbox",
  "email: root@example.com, password: sandbox-password",
  `authKeyId: ${user.userAuthKeyId}, authKey: ${user.userAuthKey}`,
  "operatorId: OP0000000001, userName: robot, password: sandbox-password",
];
const profiles = ["default", "root2", "user", "user2", "c", "d", "e", "f"];

async function setup(deployment = ""): Promise<ControlHarness> {
  return ControlHarness.open({
    sandbox: { sims: rows * profiles.length, periodSeconds: 2, limits: { Sim: perWindow }, ...user },
    env: { SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "" },
    prepare: async (folder) => {
      const path = join(folder, "deployment.yaml");
      await writeFile(path, `brand: Svc\n${deployment}`);
      const lines = profiles.map((name, n) => `  ${name}: { coverage: g, credentials: { ${forms[n % 4]} } }\n`);
      return `deployment: ${path}\nprofiles:\n${lines.join("")}`;
    },
  });
}

/** Starts a run of each profile, for SIMs of its own. @returns their ids */
async function startAll(harness: ControlHarness): Promise<string[]> {
  const [header = "", ...lines] = harness
    .csv(rows * profiles.length)
    .trim()
    .split("\n");
  const ids: string[] = [];
  for (const profile of profiles) {
    const body = [header, ...lines.splice(0, rows), ""].join("\n");
    ids.push(await harness.startRun(body, `?profile=${profile}`));
  }
  return ids;
}

async function bucketsOf(harness: ControlHarness): Promise<BucketReport[]> {
  const { buckets } = (await (await harness.ask("/v1/buckets", { as: "viewer" })).json()) as {
    buckets: BucketReport[];
  };
  return buckets.filter(({ group }) => group === "Sim");
}

test("eight profiles of one operator run side by side without a 429", async () => {
  await using harness = await setup();
  await harness.app.work(profiles, [runs]);
  for (const id of await startAll(harness)) {
    const { state, counts, throttled } = await harness.ended(id);
    expect([state, counts.done, throttled]).toEqual(["completed", rows, 0]);
  }
  const windows = harness.sandbox.throttle.windows("Sim");
  expect(windows.filter(({ throttled }) => throttled > 0)).toEqual([]);
  const [bucket, ...others] = await bucketsOf(harness);
  expect(others).toEqual([]);
  const calls = rows * profiles.length;
  expect(bucket).toMatchObject({ operator: "OP0000000001", profiles: profiles.toSorted(), calls, throttled: 0 });
});

test("with the scope principal, each profile has quotas of its own, and the first answer moves it there", async () => {
  await using harness = await setup("quota: { scope: principal }\n");
  const { limiter } = harness.app.kernel;
  await limiter.assign("default", "OP0000000001@old.example");
  for (const profile of ["default", "user"]) await harness.app.kernel.client(profile).call(listSims, { limit: 1 });
  await until("both are noted", async () => (await bucketsOf(harness)).length === 2);
  expect(await bucketsOf(harness)).toMatchObject([
    { bucket: "default.Sim", group: "Sim", operator: null, profiles: ["default"], calls: 1 },
    { bucket: "user.Sim", group: "Sim", operator: null, profiles: ["user"], calls: 1 },
  ]);
  const shown = await runCommand(harness, ["quota"], "remote");
  expect(shown.stdout).toMatch(/Sim +profile default/);
});

test("a profile without a pair shows the quota of its last known operator", async () => {
  await using harness = await setup();
  const { limiter, client } = harness.app.kernel;
  await client("default").call(listSims, { limit: 1 });
  const [bucket] = await bucketsOf(harness);
  await limiter.assign("user", bucket?.bucket.replace(/\.Sim$/, "") ?? "");
  expect(await limiter.state("user.Sim")).toMatchObject({ bucket: bucket?.bucket, limit: perWindow, calls: 1 });
  await limiter.announceLive("user");
  await until("a call is kept", async () => ((await bucketsOf(harness))[0]?.kept ?? 0) > 0);
  const shown = await runCommand(harness, ["quota"], "local");
  expect(shown.stdout).toMatch(/Sim +operator OP0000000001 \(default, user\)/);
});
