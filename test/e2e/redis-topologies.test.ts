/** Redis as operators run it, with the built worker and commands: a primary with Sentinels, and a cluster. */
import { describe, expect, test } from "vitest";
import type { ScheduleReport } from "#jobs/schedules/contract.ts";
import { until } from "../support/until.ts";
import { isLong } from "../support/long.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { primaryName, redisCluster, redisWithSentinels } from "./support/redis-topologies.ts";

const config = `seal: { keyFile: seal-key }
rotations:
  mqtt:
    type: psk
    generate: { field: key, bytes: 32, encoding: base64url }
    graceSeconds: 0
    sinks: [ { file: mqtt-psk } ]
schedules:
  sync: { cron: "0 3 1 1 *", job: sync }
  fast: { cron: "0 8 1 1 *", job: apply, where: "speedClass=s1.slow", speedClass: s1.fast }
  key: { cron: "0 4 1 1 *", job: rotate, rotation: mqtt }
`;
const options = { sims: 40, isSoracom: true, config } as const;

/** A run of a file, a sync, a run of a schedule and a rotation, all by a worker. */
async function journey(harness: CliHarness, env: Record<string, string>): Promise<void> {
  harness.sandbox.state.credentials.create("mqtt", { type: "psk", credentials: { key: "before" } });
  const worker = await harness.worker(env);
  await harness.fleet("fleet.csv", 40);
  expect(await harness.json(["apply", "fleet.csv", "--yes"], env)).toMatchObject({
    code: 0,
    document: { state: "completed", counts: { done: 40 } },
  });
  for (const name of ["sync", "fast", "key"]) {
    expect((await harness.run(["schedules", "trigger", name], env)).code).toBe(0);
    await until(
      `the schedule ${name} has done its task`,
      async () => {
        const { document } = await harness.json<{ schedules: ScheduleReport[] }>(["schedules", "list"], env);
        const last = document.schedules.find((one) => one.name === name)?.last;
        if (last !== null && last?.result !== "done") throw new Error(JSON.stringify(last));
        return last !== null;
      },
      30_000,
    );
  }
  expect(await harness.read("mqtt-psk")).toMatch(/^[\w-]{43}$/);
  expect((await harness.run(["sims", "list"], env)).code).toBe(0);
  worker.kill("SIGTERM");
  expect(await worker.ended).toMatchObject({ code: 0 });
}

describe.concurrent("a Redis of several servers", () => {
  test.runIf(isLong)("a cluster does all kinds of work, with all keys in one slot", async () => {
    await using harness = await CliHarness.open(options);
    await using cluster = await redisCluster(harness);
    const env = { SIMFLEET_REDIS_URL: cluster.url };
    await journey(harness, env);
    const checked = await harness.run(["check"], env);
    expect(checked.stdout).toMatch(/^ok +redis +redis\+cluster:\/\/127\.0\.0\.1:\d+,.*, cluster, version \d/m);
    const sizes = await Promise.all(cluster.nodes.map(({ redis }) => redis.dbsize()));
    expect(sizes.filter((size) => size > 0)).toHaveLength(1);
  });

  test.runIf(isLong)("a primary with Sentinels does all kinds of work", async () => {
    await using harness = await CliHarness.open(options);
    await using set = await redisWithSentinels(harness);
    const env = { SIMFLEET_REDIS_URL: set.url };
    await journey(harness, env);
    const { stdout } = await harness.run(["check"], env);
    expect(stdout).toContain(`/${primaryName}, primary named by Sentinel, version `);
    expect(stdout).toMatch(/^warn +redis +min-replicas-to-write is 0/m);
    await set.primary.redis.config("SET", "min-replicas-to-write", "1");
    expect((await harness.run(["check"], env)).stdout).not.toContain("min-replicas-to-write");
  });
});
