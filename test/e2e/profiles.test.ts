/** Two accounts in one worker: one of Global coverage, one of Japan, each with its own quota and queue. */
import { expect, onTestFinished, test } from "vitest";
import { startPlant } from "../support/plant.ts";
import { CliHarness } from "./support/cli-harness.ts";

/** A harness with this configuration alone. */
async function setup(config: string): Promise<CliHarness> {
  const env = { SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "" };
  const harness = await CliHarness.open({ limits: { Sim: 10 }, config, env });
  onTestFinished(() => harness[Symbol.asyncDispose]());
  return harness;
}

/** A harness with an account of Global coverage, and `plant`, one of Japan. */
async function setupTwo() {
  const plant = await startPlant({ limits: { Sim: 2e3, Auth: 1e3 } });
  onTestFinished(() => plant.close());
  const harness = await setup(`endpoints: { japan: ${plant.url} }
profiles:
  default: { coverage: g, credentials: { authKeyId: keyId-sandbox, authKey: secret-sandbox } }
  plant: { coverage: jp, credentials: { authKeyId: keyId-plant, authKey: secret-plant } }
`);
  return { harness, plant };
}

test("check names the account of each profile", async () => {
  const { harness } = await setupTwo();
  const checked = await harness.run(["check"]);
  expect(checked.code).toBe(0);
  expect(checked.stdout).toMatch(/ok +credentials +OP0000000001/);
  expect(checked.stdout).toMatch(/ok +credentials of plant +OP0000000002, token valid until /);
  expect(checked.stdout).toMatch(/warn +token +signature not verified: set SIMFLEET_JWKS_URL or /);
});

/** Starts a run of 60 rows in each profile. @returns their ids */
async function startBoth({ harness, plant }: Awaited<ReturnType<typeof setupTwo>>) {
  await harness.worker();
  await harness.fleet("global.csv", 60);
  const ids = Array.from({ length: 60 }, (_, n) => plant.state.sims.simIdAt(n));
  await harness.write("japan.csv", `simId,speedClass\n${ids.map((id) => `${id},s1.fast\n`).join("")}`);
  const slow = await harness.run(["apply", "global.csv", "--yes", "--detach"]);
  const quick = await harness.run(["apply", "japan.csv", "--yes", "--detach", "--profile", "plant"]);
  expect([slow.code, quick.code]).toEqual([0, 0]);
  return { slowId: slow.stdout.trim(), quickId: quick.stdout.trim() };
}

test("two profiles share a worker, and the spent quota of one holds nothing of the other", async () => {
  const { harness, plant } = await setupTwo();
  const { slowId, quickId } = await startBoth({ harness, plant });
  const there = await harness.json(["runs", "watch", quickId]);
  expect(there.document).toMatchObject({ profile: "plant", counts: { done: 60 } });
  expect((await harness.json(["runs", "show", slowId])).document.state).toBe("running");
  const here = await harness.json(["runs", "watch", slowId]);
  expect(here.document).toMatchObject({ profile: "default", counts: { done: 60 } });
  expect(plant.state.totals.byOperation.updateSimSpeedClass).toBe(60);
  expect(harness.changes).toBe(60);
});

test("check reports separately which profiles and AuthKeys the platform accepts", async () => {
  const second = "second: { authKeyId: keyId-other, authKey: secret-other }";
  const harness = await setup(`profiles:
  default: { coverage: g, credentials: { authKeyId: keyId-sandbox, authKey: secret-sandbox, ${second} } }
  plant: { coverage: g, credentials: { authKeyId: keyId-wrong, authKey: secret-wrong } }
`);
  const { code, stdout } = await harness.run(["check"]);
  expect(code).toBe(3);
  expect(stdout).toMatch(/ok +credentials +OP/);
  expect(stdout).toMatch(/ok +AuthKey +keyId-sandbox is accepted/);
  expect(stdout).toMatch(/FAIL +AuthKey +keyId-other: auth: not authorized/);
  expect(stdout).toMatch(/FAIL +credentials of plant +auth: not authorized/);
});
