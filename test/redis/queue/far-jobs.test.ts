/** A job that a wrong clock has delayed does not wait until the right clock is as late. */
import type { Job } from "bullmq";
import { expect, it, onTestFinished } from "vitest";
import { minuteMs, systemClock } from "#core/time.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import type { SegmentReference } from "#jobs/runs/work/row-attempt.ts";
import { Queues } from "#jobs/runs/work/queues.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds, submit } from "../ledger/run-of.ts";

const { redis, keys, connect } = openTestRedis();
const ledger = new Ledger({ redis, keys, clock: systemClock, bounds: keptBounds });

/** Takes the next job as a worker with this clock would, and delays it. */
async function delayBy(job: Job<SegmentReference> | undefined, delayMs: number, aheadMs: number): Promise<void> {
  if (job === undefined) throw new Error("no job");
  const { now } = Date;
  Date.now = () => now() + aheadMs;
  try {
    await job.changeDelay(delayMs);
  } finally {
    Date.now = now;
  }
}

it("a segment that a process with a fast clock has delayed starts soon, and one that has to wait goes on to wait", async () => {
  const queues = new Queues({ connect, keys, ledger, clock: systemClock });
  onTestFinished(() => queues.close());
  const run = await submit(ledger, [[1], [1]]);
  const queue = await queues.queue(run.bucket);
  for (const segment of [0, 1]) {
    const jobId = `${run.runId}-s${segment}`;
    await queue.add("process-segment", { runId: run.runId, segment }, { jobId, delay: minuteMs });
  }
  await delayBy(await queue.getJob(`${run.runId}-s0`), 5_000, 60 * minuteMs);
  await queues.restore(run.bucket);
  expect((await queue.getDelayed()).map(({ data }) => data.segment)).toEqual([1]);
  expect((await queue.getWaiting()).map(({ data }) => data.segment)).toEqual([0]);
});
