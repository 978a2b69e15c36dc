/** A platform and a way to it that go wrong all the time: the file still comes true, row by row. */
import { describe, expect, test } from "vitest";
import { isLong } from "../support/long.ts";
import { column, counted, resultRows } from "./support/results.ts";
import { CliHarness, type CliHarnessOptions } from "./support/cli-harness.ts";

async function applyAll(harness: CliHarness, rows: number): Promise<{ results: string; throttled: number }> {
  await harness.fleet("fleet.csv", rows);
  const applied = await harness.json(["apply", "fleet.csv", "--yes"]);
  expect(applied.code).toBe(0);
  expect(applied.document.counts).toMatchObject({ total: rows, done: rows });
  const results = await harness.read(applied.document.results ?? "");
  for (const { simId = "", speedClass } of resultRows(results)) {
    expect(harness.sandbox.state.recordOf(simId)?.speedClass).toBe(speedClass);
    expect(harness.sandbox.state.acceptedChanges(simId)).toBeGreaterThan(0);
  }
  expect(applied.document.throttled).toBe(harness.sandbox.state.totals.throttled);
  return { results, throttled: applied.document.throttled };
}

describe.concurrent("runs on an unreliable platform", () => {
  test("a run completes all rows despite 2% each of resets, lost and truncated responses, 502s, and empty 500s", async () => {
    const share = 0.02;
    const faults = { reset: share, "lost-answer": share, truncated: share, "html-502": share, "empty-500": share };
    await using harness = await CliHarness.open({ sims: 1_000, faults });
    const { results, throttled } = await applyAll(harness, 1_000);
    expect(counted(column(results, "outcome"))).toEqual({ done: 1_000 });
    expect(throttled).toBe(0);
    const { counts } = harness.sandbox.faults;
    const lost = (counts["lost-answer"] ?? 0) + (counts.truncated ?? 0);
    expect(lost).toBeGreaterThan(10);
    // What was lost was carried out, and was sent again: nothing else was repeated.
    expect(harness.changes).toBe(1_000 + lost);
    expect(Math.max(...column(results, "attempts").map(Number))).toBeGreaterThan(1);
    expect(counted(column(results, "reason"))).toHaveProperty("a response was lost; the change was sent again");
  });

  test.each<[string, CliHarnessOptions]>([
    ["while pairs expire", { faults: { "expire-pairs": 0.02 } }],
    ["through errors of the nested form", { faults: { "nested-error": 0.05 } }],
  ])("a run completes all rows %s", async (_, options) => {
    await using harness = await CliHarness.open({ sims: 300, ...options });
    await applyAll(harness, 300);
  });
});

describe.concurrent("429 responses during a run", () => {
  const lanes = 8;
  const env = { SIMFLEET_CONNECTIONS: String(lanes) };
  const inLanes = { limits: { Sim: 100 }, latencyMs: [5, 20], env } as const;

  test("a run beside another caller gets at most one 429 per window or one burst of calls in flight", async () => {
    await using harness = await CliHarness.open({ ...inLanes, sims: 300, competitor: { Sim: 8 } });
    const { throttled } = await applyAll(harness, 300);
    const windows = harness.sandbox.throttle.windows("Sim").filter(({ accepted }) => accepted > 0);
    expect(windows.length).toBeGreaterThanOrEqual(4);
    // Where this machine stands still for a moment, the other caller overtakes everything that is in flight, once. That
    // it is one a window otherwise is shown with a clock of our own
    // (test/redis/limiter/bucket-company.property.test.ts).
    expect(throttled).toBeLessThanOrEqual(windows.length + lanes);
  });

  test.runIf(isLong)("a run gets at most as many 429s as calls in flight when the limit is lowered", async () => {
    await using harness = await CliHarness.open({ ...inLanes, sims: 200 });
    void harness
      .untilChanges(30)
      .then(() => harness.sandbox.throttle.changeLimit({ group: "Sim", limit: 40, afterMs: 0 }));
    expect((await applyAll(harness, 200)).throttled).toBeLessThanOrEqual(lanes);
  });
});
