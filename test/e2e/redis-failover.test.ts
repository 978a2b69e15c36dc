/**
 * A failover of Redis in the middle of a run: the run continues by itself, ends with one outcome for each row, and the
 * platform holds what the file says. What a failover loses is made again, which is harmless for these calls.
 */
import { isLong } from "../support/long.ts";
import { describe, expect, test, vi } from "vitest";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { redisCluster, redisWithSentinels } from "./support/redis-topologies.ts";
import { counted, resultRows, runIdIn } from "./support/results.ts";

vi.setConfig({ testTimeout: 600_000 });

const rows = 200;
const lanes = 8;
const io = { sims: rows, latencyMs: [10, 40], env: { SIMFLEET_CONNECTIONS: String(lanes) } } as const;

type Blow = () => Promise<unknown>;

/** A worker carries a run of a file, during which the blow falls. */
async function expectSurvival(harness: CliHarness, env: Record<string, string>, blow: Blow): Promise<void> {
  await harness.fleet("fleet.csv", rows);
  const worker = await harness.worker(env);
  const apply = harness.start(["apply", "fleet.csv", "--yes"], env);
  await harness.untilChanges(rows / 4);
  await blow();
  const { code, stderr } = await apply.ended;
  expect(code, stderr).toBe(0);
  const results = resultRows((await harness.run(["runs", "results", runIdIn(stderr)], env)).stdout);
  expect(counted(results.map(({ outcome = "" }) => outcome))).toEqual({ done: rows });
  for (const { simId = "", speedClass } of results) {
    expect(harness.sandbox.state.speedClassOf(simId)).toBe(speedClass);
    expect(harness.sandbox.state.acceptedChanges(simId)).toBeGreaterThan(0);
  }
  // What was in flight, and what had not reached the replica.
  expect(harness.changes - rows).toBeLessThanOrEqual(rows / 4);
  expect(harness.sandbox.state.totals.throttled).toBe(0);
  expect(await worker.end()).toMatchObject({ code: 0 });
}

/** Each takes a minute on a busy machine. */
const inLongForm = test.runIf(isLong);

describe.concurrent("a run continues by itself", () => {
  inLongForm("a run continues when the primary of Sentinels is killed and its replica takes over", async () => {
    await using harness = await CliHarness.open(io);
    await using set = await redisWithSentinels(harness);
    await expectSurvival(harness, { SIMFLEET_REDIS_URL: set.url }, async () => {
      await set.primary.kill();
      await set.untilPromoted(set.primary.port);
    });
  });

  inLongForm("a run continues when the primary of Sentinels goes silent without closing a connection", async () => {
    await using harness = await CliHarness.open(io);
    await using set = await redisWithSentinels(harness);
    await expectSurvival(harness, { SIMFLEET_REDIS_URL: set.url }, async () => {
      set.primary.process.kill("SIGSTOP");
      await set.untilPromoted(set.primary.port);
    });
  });

  inLongForm(
    "a run continues when an operator has the Sentinels change the primary, which stays as a replica",
    async () => {
      await using harness = await CliHarness.open(io);
      // What is written after the promotion, until the Sentinels report it, is rejected instead of lost.
      await using set = await redisWithSentinels(harness, { args: ["--min-replicas-to-write", "1"] });
      await expectSurvival(harness, { SIMFLEET_REDIS_URL: set.url }, async () => {
        await set.asked[0]?.call("SENTINEL", "FAILOVER", "fleet-1");
        await set.untilPromoted(set.primary.port);
      });
    },
  );

  inLongForm(
    "a run continues when the node of a cluster that has the keys is killed and its replica takes over",
    async () => {
      await using harness = await CliHarness.open(io);
      await using cluster = await redisCluster(harness, { withReplica: true });
      const before = await cluster.holder();
      await expectSurvival(harness, { SIMFLEET_REDIS_URL: cluster.url }, () => before.kill());
      expect((await cluster.holder()).port).not.toBe(before.port);
    },
  );

  inLongForm("a run continues when an operator makes a replica of a cluster the primary", async () => {
    await using harness = await CliHarness.open(io);
    await using cluster = await redisCluster(harness, { withReplica: true });
    const before = await cluster.holder();
    const replica = cluster.nodes.at(-1);
    await expectSurvival(harness, { SIMFLEET_REDIS_URL: cluster.url }, async () =>
      replica?.redis.call("CLUSTER", "FAILOVER"),
    );
    expect((await cluster.holder()).port).not.toBe(before.port);
  });
});

describe.concurrent("a call that must not be repeated", () => {
  const soracom = {
    sims: 60,
    operations: "all",
    latencyMs: [5, 20],
    env: {
      SIMFLEET_BRAND: "Svc",
      SIMFLEET_COVERAGE: "g",
      SIMFLEET_DEPLOYMENT: "soracom",
      SIMFLEET_CONNECTIONS: "4",
    },
  } as const;

  /** A worker sends an SMS to every SIM; `blow` falls after the first ten. */
  async function sendAll(harness: CliHarness, env: Record<string, string>, blow: () => Promise<unknown>) {
    const { sims } = soracom;
    const lines = Array.from({ length: sims }, (_, n) => `${harness.simId(n)},hello ${n}\n`);
    await harness.write("sms.csv", `simId,payload\n${lines.join("")}`);
    const sent = (): number[] =>
      Array.from({ length: sims }, (_, n) => harness.sandbox.state.effectsOn(harness.simId(n))["sendSimSms"] ?? 0);
    const worker = await harness.worker(env);
    const apply = harness.start(["apply", "sms.csv", "--operation", "send-sms", "--yes"], env);
    const count = (): number => sent().reduce((sum, one) => sum + one, 0);
    await until("some SMS are sent", () => count() >= 10);
    await blow();
    const { code, stderr } = await apply.ended;
    const results = resultRows((await harness.run(["runs", "results", runIdIn(stderr)], env)).stdout);
    await worker.end();
    return { code, sent: sent(), outcomes: counted(results.map(({ outcome = "" }) => outcome)) };
  }

  inLongForm("an unsafe call waits until a replica has the mark that it is sent, and is made once", async () => {
    await using harness = await CliHarness.open(soracom);
    await using set = await redisWithSentinels(harness);
    const env = { SIMFLEET_REDIS_URL: set.url };
    let restarted: AsyncDisposable | undefined;
    const { code, sent, outcomes } = await sendAll(harness, env, async () => {
      await set.replica.kill();
      await until(
        "the run reports the missing replica",
        async () => {
          const { stdout } = await harness.run(["runs", "list"], env);
          const runId = runIdIn(stdout);
          return (await harness.run(["runs", "show", runId], env)).stdout.includes("no replica of Redis");
        },
        30_000,
      );
      restarted = await set.replica.restart();
    });
    await restarted?.[Symbol.asyncDispose]();
    expect({ code, outcomes }).toEqual({ code: 0, outcomes: { done: 60 } });
    expect(sent).toEqual(sent.map(() => 1));
  });

  inLongForm(
    "an unsafe call is not made twice over a failover, and a row whose outcome was lost is unknown at worst",
    async () => {
      await using harness = await CliHarness.open(soracom);
      await using cluster = await redisCluster(harness, { withReplica: true });
      const before = await cluster.holder();
      let restarted: AsyncDisposable | undefined;
      const { sent, outcomes } = await sendAll(harness, { SIMFLEET_REDIS_URL: cluster.url }, async () => {
        await before.kill();
        await until("the replica has taken over", async () =>
          cluster.holder().then(
            ({ port }) => port !== before.port,
            () => false,
          ),
        );
        // The new primary has no replica until then.
        restarted = await before.restart();
      });
      await restarted?.[Symbol.asyncDispose]();
      const { done = 0, unknown = 0, ...others } = outcomes;
      expect({ rows: done + unknown, others }).toEqual({ rows: 60, others: {} });
      expect(unknown).toBeLessThanOrEqual(16);
      expect(sent.filter((times) => times > 1)).toEqual([]);
      expect(sent.filter((times) => times === 0).length).toBeLessThanOrEqual(unknown);
    },
  );
});
