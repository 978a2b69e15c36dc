/** The built commands and worker with data of another version in Redis. */
import type { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { CliHarness } from "./support/cli-harness.ts";
import { counted, resultRows, runIdIn } from "./support/results.ts";

const rows = 60;

/** Every command that reads or writes data. */
const commands = [
  "plan fleet.csv",
  "apply fleet.csv --yes",
  "runs list",
  "runs show r-1",
  "runs watch r-1",
  "runs pause r-1",
  "runs resume r-1",
  "runs cancel r-1 --yes",
  "runs retry r-1 --yes",
  "runs undo r-1 --yes",
  "runs approve r-1",
  "runs results r-1",
  "runs delete r-1 --yes",
  "sims sync",
  "sims list",
  "sims show 8942310000000000001",
  "sims export",
  "sims changes",
  "credentials list",
  "credentials rotate mqtt --yes",
  "credentials confirm mqtt",
  "credentials status",
  "authkeys list",
  "authkeys rotate --yes",
  "schedules list",
  "schedules trigger nightly",
  "schedules pause nightly",
  "schedules resume nightly",
  "automations list",
  "automations pause new",
  "automations resume new",
  "automations replay new --yes",
  "freeze on --reason why",
  "freeze off",
  "freeze status",
  "events tail",
  "webhooks list",
  "webhooks test ops",
  "webhooks resume ops",
  "deliveries list",
  "deliveries show ops.1-1",
  "deliveries redeliver ops.1-1",
  "quota",
  "storage",
  "audit list",
  "worker",
];

/** Gives every key the name that the layout before had for it. */
async function renameToOld(redis: Redis): Promise<number> {
  await redis.del("{simfleet}:data-version");
  const found = await redis.keys("{simfleet}:*");
  for (const key of found) await redis.rename(key, key.replace("{simfleet}", "simfleet"));
  return found.length;
}

describe.concurrent("data of another version", () => {
  test("data of the previous layout are moved, and a paused run, the inventory and a schedule continue with them", async () => {
    await using harness = await CliHarness.open({
      sims: rows,
      latencyMs: [10, 30],
      env: { SIMFLEET_CONFIG: "simfleet.yaml", SIMFLEET_CONNECTIONS: "4" },
    });
    await harness.write("simfleet.yaml", 'schedules: { nightly: { cron: "0 3 * * *", job: sync } }\n');
    await harness.fleet("fleet.csv", rows);
    const before = await harness.worker();
    expect((await harness.run(["sims", "sync"])).code).toBe(0);
    expect((await harness.run(["schedules", "pause", "nightly"])).code).toBe(0);
    const apply = harness.start(["apply", "fleet.csv", "--yes"]);
    await harness.untilChanges(rows / 4);
    const runId = runIdIn(apply.stderr);
    expect((await harness.run(["runs", "pause", runId])).code).toBe(0);
    await apply.ended;
    before.kill("SIGTERM");
    await before.ended;
    const redis = await harness.redis();
    expect(await renameToOld(redis)).toBeGreaterThan(20);

    const worker = await harness.worker();
    expect(worker.stderr).toMatch(/"keys":\d+.*the data of an older simfleet have been moved to new keys/);
    expect((await harness.run(["schedules", "list"])).stdout).toMatch(/^nightly .* paused /m);
    expect((await harness.json<{ sims: unknown[] }>(["sims", "list", "--limit", "100"])).document.sims).toHaveLength(
      rows,
    );
    expect((await harness.run(["runs", "resume", runId])).code).toBe(0);
    const results = resultRows((await harness.run(["runs", "results", runId])).stdout);
    expect(counted(results.map(({ outcome = "" }) => outcome))).toEqual({ done: rows });
    expect(await redis.get("simfleet:queues")).toContain("A newer simfleet has moved the data");
    worker.kill("SIGTERM");
    expect(await worker.ended).toMatchObject({ code: 0 });
  });

  test("every command refuses newer data with one message and exit code 4", { timeout: 180_000 }, async () => {
    await using harness = await CliHarness.open();
    await harness.fleet("fleet.csv", 2);
    const redis = await harness.redis();
    await redis.set("{simfleet}:data-version", "3");
    const message =
      "The data in Redis was written by a newer simfleet (data version 3; this one reads 2): upgrade this simfleet";
    const keysBefore = await redis.keys("*");
    for (const command of commands) {
      const ended = await harness.run(command.split(" "));
      expect(ended, command).toMatchObject({ code: 4, stdout: "" });
      expect(ended.stderr, command).toBe(`simfleet: ${message}\n`);
    }
    const check = await harness.run(["check"]);
    expect(check.code).toBe(4);
    expect(check.stdout + check.stderr).toContain(message);
    expect(await redis.keys("*")).toEqual(keysBefore);
  });

  test("data are refused with exit code 4 if they are newer or an older worker is live", async () => {
    await using harness = await CliHarness.open();
    const redis = await harness.redis();
    await redis.set("{simfleet}:data-version", "3");
    const newer = await harness.run(["runs", "list"]);
    expect(newer).toMatchObject({ code: 4, stdout: "" });
    expect(newer.stderr).toBe(
      "simfleet: The data in Redis was written by a newer simfleet (data version 3; this one reads 2): upgrade this simfleet\n",
    );
    const worker = await harness.start(["worker"]).ended;
    expect(worker.code).toBe(4);
    expect(worker.stderr).toContain("upgrade this simfleet");
    await redis.del("{simfleet}:data-version");
    await redis.sadd("simfleet:queues", "calls-default.Sim");
    await redis.zadd("simfleet:workers:calls-default.Sim", Date.now() + 600_000, "w-live");
    const live = await harness.run(["runs", "list"]);
    expect(live).toMatchObject({ code: 4, stdout: "" });
    expect(live.stderr).toMatch(
      /^simfleet: A worker of an older simfleet is running \(queue calls-default\.Sim\): stop/,
    );
  });
});
