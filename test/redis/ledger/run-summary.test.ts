/** The summary of a run: its outcomes by window, and its rows by reason. */
import { expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import type { BucketState } from "#limiter/limiter.ts";
import { summarizeRun } from "#jobs/runs/results/run-summary.ts";
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

const limiter = {
  state: () => Promise.resolve({ bucket: "b", limit: 30 } as BucketState),
  windows: () =>
    Promise.resolve(
      [2, 1].map((n) => ({ endedAtMs: begunAtMs + n * periodMs, calls: 1, throttled: 0, limit: n === 1 ? 10 : 30 })),
    ),
};

it("a summary counts the rows of a run by window and by reason, packed or not", async () => {
  const clock = { ...systemClock, wallMs: () => begunAtMs + periodMs };
  const head = await submit(ledger, [[1, 1], [1, 1], [1]]);
  await ledger.settle(head, 0, [outcomeAt(0, "done", 0), outcomeAt(1, "failed", 0)], noCounts);
  await ledger.finishSegment(head, 0);
  await ledger.settle(head, 1, [outcomeAt(0, "failed", 0), outcomeAt(1, "failed", 1)], noCounts);
  const { windows, reasons, reasonsInAll } = await summarizeRun(head.runId, { ledger, clock, periodMs, limiter });
  // The limit was raised at the end of the first window.
  expect(windows).toMatchObject([
    { done: 1, failed: 2, calls: 3, quota: 10 },
    { done: 0, failed: 1, calls: 1, quota: 30 },
  ]);
  expect([reasons, reasonsInAll]).toEqual([[{ outcome: "failed", reason: "because", rows: 3 }], 1]);
});
