/** The summary of a run reads every row once, and counts as if it had read all of them again. */
import { expect, it, vi } from "vitest";
import { systemClock } from "#core/time.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { RunSummaries } from "#jobs/runs/results/run-summary.ts";
import { openTestRedis } from "../../support/redis.ts";
import { begunAtMs, keptBounds, settledAs, submit } from "./run-of.ts";

const { redis, keys } = openTestRedis();
const ledger = new Ledger({ redis, keys, clock: systemClock, bounds: keptBounds });
const noCounts = { calls: 0, throttled: 0 };
const periodMs = 60_000;

/** An outcome of a row, in the period with this number. */
const outcomeAt = (place: number, outcome: "done" | "failed", period: number) => ({
  place,
  key: `89423${place}`,
  weight: 1,
  settled: { ...settledAs(outcome), finishedAtMs: begunAtMs + period * periodMs },
});

it("a summary reads only the segments again that had rows without an outcome, and counts all rows", async () => {
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs, wallMs: () => begunAtMs + periodMs };
  const summaries = new RunSummaries({ ledger, clock, periodMs });
  const head = await submit(ledger, [[1, 1], [1, 1], [1]]);
  await ledger.settle(head, 0, [outcomeAt(0, "done", 0), outcomeAt(1, "failed", 0)], noCounts);
  await ledger.finishSegment(head, 0);
  await ledger.settle(head, 1, [outcomeAt(0, "failed", 0)], noCounts);
  const reads = vi.spyOn(ledger, "segment");
  const readSegments = (): number[] => reads.mock.calls.splice(0).map(([, segment]) => segment);

  const first = await summaries.of(head.runId);
  expect(first.windows).toMatchObject([{ done: 1, failed: 2, calls: 3 }]);
  expect(first.reasons).toEqual([{ outcome: "failed", reason: "because", rows: 2 }]);
  expect(readSegments()).toEqual([0, 1, 2]);

  await ledger.settle(head, 1, [outcomeAt(1, "failed", 1)], noCounts);
  await ledger.finishSegment(head, 1);
  expect(await summaries.of(head.runId)).toBe(first);
  nowMs += 3_600_000;
  const second = await summaries.of(head.runId);
  expect(second.windows).toMatchObject([
    { done: 1, failed: 2, calls: 3 },
    { done: 0, failed: 1, calls: 1 },
  ]);
  expect(second.reasons).toEqual([{ outcome: "failed", reason: "because", rows: 3 }]);
  expect(readSegments()).toEqual([1, 2]);

  await ledger.move(head.runId, "cancelled", ["running"]);
  nowMs += 3_600_000;
  const last = await summaries.of(head.runId);
  expect(readSegments()).toEqual([2]);
  expect(await new RunSummaries({ ledger, clock, periodMs }).of(head.runId)).toEqual(last);
});
