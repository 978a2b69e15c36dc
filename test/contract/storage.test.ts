/** The report on storage, the warning before Redis is full, runs that find no room, and runs that are deleted. */
import type { StorageReport } from "#jobs/storage/contract.ts";
import { storage } from "#jobs/storage/feature.ts";
import { runKeys } from "#jobs/runs/ledger/keys.ts";
import { describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { answerOf, ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

const megabyte = 1_048_576;

const harness = await ControlHarness.ofFile({ works: true });

function startRun(rows: number, query = ""): Promise<Response> {
  return harness.upload(`/v1/runs${query}`, harness.csv(rows));
}

async function endedRun(): Promise<string> {
  const { runId } = (await (await startRun(4, "?skipUnchanged=false")).json()) as { runId: string };
  expect(await harness.ended(runId)).toMatchObject({ state: "completed" });
  await until("its worker has left it", async () => (await harness.runs.record(runId)).isHeld === false);
  return runId;
}

/** Runs a test with so much memory left. */
async function withMemoryLeft(bytes: number, act: () => Promise<void>): Promise<void> {
  const { usedBytes } = await harness.app.service(storage).memory();
  await harness.redis().config("SET", "maxmemory", String(usedBytes + bytes));
  try {
    await act();
  } finally {
    await harness.redis().config("SET", "maxmemory", "0");
  }
}

describe("storage", () => {
  test("storage reports the memory of each kind of data, locally and through a worker", async () => {
    await endedRun();
    await harness.redis().config("SET", "maxmemory", String(200 * megabyte));
    for (const where of ["local", "remote"] as const) {
      const { code, stdout } = await runCommand(harness, ["storage", "--json"], where);
      const report = JSON.parse(stdout) as StorageReport;
      expect([code, report]).toMatchObject([0, { limitBytes: 200 * megabyte, limitFrom: "maxmemory", archive: null }]);
      const bytesOf = Object.fromEntries(report.parts.map(({ part, bytes }) => [part, bytes]));
      for (const part of ["runs", "inventory", "events", "queues", "quotas"]) expect(bytesOf[part]).toBeGreaterThan(0);
      const counted = report.parts.reduce((sum, { bytes }) => sum + bytes, 0);
      expect(counted).toBeLessThan(report.usedBytes);
    }
    await harness.redis().config("SET", "maxmemory", "0");
  });

  test("storage names a profile that is no longer configured, and when its data are removed", async () => {
    const { keys } = harness.app.kernel;
    await harness.redis().zadd(keys.of("profiles"), Date.parse("2026-11-01T12:00:00Z"), "plant");
    const json = JSON.parse((await runCommand(harness, ["storage", "--json"], "remote")).stdout) as unknown;
    expect(json).toMatchObject({
      retentionDays: { profiles: 90 },
      formerProfiles: [{ profile: "plant", since: "2026-11-01T12:00:00.000Z", removedAt: "2027-01-30T12:00:00.000Z" }],
    });
    const { stdout } = await runCommand(harness, ["storage"], "local");
    expect(stdout).toContain(
      "The profile plant is not configured since 2026-11-01; its data are removed on 2027-01-30.",
    );
    await harness.redis().zrem(keys.of("profiles"), "plant");
  });

  test("a worker lets every feature remove its old data", async () => {
    const runId = await endedRun();
    const { keys } = harness.app.kernel;
    await harness.redis().hset(keys.run(runId), "createdAtMs", 1, "finishedAtMs", 1);
    await harness.redis().zadd(runKeys(keys).runs(), 1, runId);
    await harness.app.work([], [storage]);
    await until("the run is removed", async () => (await harness.redis().exists(keys.run(runId))) === 0);
  });

  test("storage.low is emitted once a day when too little memory is left", async () => {
    const low = async () => (await harness.app.kernel.feed.newest({ types: ["storage.low"] }, { limit: 10 })).events;
    await harness.app.service(storage).warnIfLow();
    expect(await low()).toEqual([]);
    await withMemoryLeft(megabyte / 4, async () => {
      await harness.app.service(storage).warnIfLow();
      await harness.app.service(storage).warnIfLow();
    });
    const [event, ...others] = await low();
    expect(others).toEqual([]);
    expect(Number(event?.fields.percent)).toBeGreaterThan(80);
  });
});

describe("a run without room in Redis", () => {
  test("is refused with STORE_FULL before its first call, and leaves nothing behind", async () => {
    const before = await harness.redis().keys("*");
    const calls = harness.sandbox.state.totals.calls;
    await withMemoryLeft(100_000, async () => {
      expect(await answerOf(startRun(50))).toMatchObject([507, { code: "STORE_FULL" }]);
    });
    const isOfRun = (key: string): boolean => /:(run|draft):/.test(key);
    expect((await harness.redis().keys("*")).filter(isOfRun).toSorted()).toEqual(before.filter(isOfRun).toSorted());
    expect(harness.sandbox.state.totals.calls).toBe(calls);
    expect((await startRun(1)).status).toBe(202);
  });
});

test("a request that Redis refuses for lack of memory says so instead of calling it a bug", async () => {
  await endedRun();
  // Reading a quota advances it to the present.
  const ask = (): Promise<Response> => harness.ask("/v1/buckets", { as: "viewer" });
  expect((await ask()).status).toBe(200);
  await harness.redis().config("SET", "maxmemory", "1");
  const refused = await ask();
  await harness.redis().config("SET", "maxmemory", "0");
  const detail = expect.stringContaining("Redis rejects commands: it is full") as unknown;
  expect(await answerOf(refused)).toMatchObject([503, { code: "STORE_UNAVAILABLE", detail }]);
});

describe("a run that is deleted", () => {
  test.each(["local", "remote"] as const)("is gone with its rows and results (%s)", async (where) => {
    const runId = await endedRun();
    const { code, stdout } = await runCommand(harness, ["runs", "delete", runId, "--yes", "--json"], where);
    expect([code, JSON.parse(stdout)]).toEqual([0, { runId, deleted: true }]);
    expect((await harness.ask(`/v1/runs/${runId}`, { as: "viewer" })).status).toBe(404);
    expect(await harness.redis().keys(`*${runId}*`)).toEqual([]);
    const again = await runCommand(harness, ["runs", "delete", runId, "--yes"], where);
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining(`There is no run ${runId}`)]);
  });

  test("must be over, and needs --yes without a terminal", async () => {
    const { runId } = (await (await startRun(5, "?rate=1&skipUnchanged=false")).json()) as { runId: string };
    const refused = await runCommand(harness, ["runs", "delete", runId, "--yes"], "remote");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("only a finished run can")]);
    const unasked = await runCommand(harness, ["runs", "delete", runId], "local");
    expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining("add --yes to confirm")]);
    await harness.runs.control.cancel(runId, { by: "cli:test", reason: "the test is over" });
  });

  test("can no longer be asked for its rows once they were removed, and says so with 410", async () => {
    const runId = await endedRun();
    const key = (await harness.redis().keys(`*:run:${runId}`))[0] ?? "";
    const archive = "/archive/r.csv.gz";
    await harness.redis().hset(key, { rowsRemovedAtMs: Date.UTC(2026, 9, 1), archive });
    const ask = (path: string, method = "GET") =>
      answerOf(harness.ask(`/v1/runs/${runId}${path}`, { as: "operator", method }));
    const detail = expect.stringContaining("removed on 2026-10-01; its results are in /archive") as unknown;
    for (const path of ["/rows", "/results"])
      expect(await ask(path)).toMatchObject([410, { code: "ROWS_REMOVED", detail }]);
    for (const path of ["/retry", "/undo"]) expect(await ask(path, "POST")).toMatchObject([410, {}]);
    const left = { counts: { total: 4, done: 4 }, rowsRemovedAt: "2026-10-01T00:00:00.000Z", archive };
    expect(await ask("")).toMatchObject([200, left]);
  });
});
