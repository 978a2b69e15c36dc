/** Two accounts in one worker: one of Global coverage, one of Japan, each with its own quota and queue. */
import { expect, test } from "vitest";
import { startSandbox } from "#sandbox/server.ts";
import { CliHarness } from "./support/cli-harness.ts";

test("two profiles share a worker but nothing else", async () => {
  await using harness = await CliHarness.open({
    limits: { Sim: 10 },
    env: { SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "", SIMFLEET_CONFIG: "two.yaml" },
  });
  const plant = await startSandbox({
    operatorId: "OP0000000002",
    coverageTypes: ["jp"],
    serves: ["jp"],
    periodSeconds: 2,
    seed: 7,
    authKeyId: "keyId-plant",
    authKey: "secret-plant",
    limits: {
      Sim: 2e3,
      Auth: 1e3,
    },
  });
  try {
    await harness.write(
      "two.yaml",
      `endpoints: { japan: ${plant.url} }
profiles:
  default: { coverage: g, credentials: { authKeyId: keyId-sandbox, authKey: secret-sandbox } }
  plant: { coverage: jp, credentials: { authKeyId: keyId-plant, authKey: secret-plant } }
`,
    );
    const checked = await harness.run(["check"]);
    expect(checked.code).toBe(0);
    expect(checked.stdout).toMatch(/ok +credentials +OP0000000001/);
    expect(checked.stdout).toMatch(/ok +credentials of plant +OP0000000002/);

    await harness.worker();
    await harness.fleet("global.csv", 60);
    const ids = Array.from({ length: 60 }, (_, n) => plant.state.sims.simIdAt(n));
    await harness.write("japan.csv", `simId,speedClass\n${ids.map((id) => `${id},s1.fast\n`).join("")}`);
    const slow = await harness.run(["apply", "global.csv", "--yes", "--detach"]);
    const quick = await harness.run(["apply", "japan.csv", "--yes", "--detach", "--profile", "plant"]);
    expect([slow.code, quick.code]).toEqual([0, 0]);
    const [slowId, quickId] = [slow.stdout.trim(), quick.stdout.trim()];

    // The spent quota of the one holds nothing of the other.
    const there = await harness.json(["runs", "watch", quickId]);
    expect(there.document).toMatchObject({ profile: "plant", counts: { done: 60 } });
    expect((await harness.json(["runs", "show", slowId])).document.state).toBe("running");
    const { document } = await harness.json<{ buckets: { group: string; profiles: string[]; limit: number | null }[] }>(
      ["quota"],
    );
    const ofSims = document.buckets.filter(({ group }) => group === "Sim");
    expect(Object.fromEntries(ofSims.map(({ profiles, limit }) => [profiles.join(), limit]))).toEqual({
      default: 10,
      plant: 2_000,
    });
    const here = await harness.json(["runs", "watch", slowId]);
    expect(here.document).toMatchObject({ profile: "default", counts: { done: 60 } });
    expect(plant.state.totals.byOperation.updateSimSpeedClass).toBe(60);
    expect(harness.changes).toBe(60);
  } finally {
    await plant.close();
  }
});

test("check reports separately which profiles and AuthKeys the platform accepts", async () => {
  await using harness = await CliHarness.open({
    env: { SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "", SIMFLEET_CONFIG: "two.yaml" },
  });
  const second = "second: { authKeyId: keyId-other, authKey: secret-other }";
  await harness.write(
    "two.yaml",
    `profiles:
  default: { coverage: g, credentials: { authKeyId: keyId-sandbox, authKey: secret-sandbox, ${second} } }
  plant: { coverage: g, credentials: { authKeyId: keyId-wrong, authKey: secret-wrong } }
`,
  );
  const { code, stdout } = await harness.run(["check"]);
  expect(code).toBe(3);
  expect(stdout).toMatch(/ok +credentials +OP/);
  expect(stdout).toMatch(/ok +AuthKey +keyId-sandbox is accepted/);
  expect(stdout).toMatch(/FAIL +AuthKey +keyId-other: auth: not authorized/);
  expect(stdout).toMatch(/FAIL +credentials of plant +auth: not authorized/);
});
