/** A job that a wrong clock has delayed does not wait until the right clock is as late. */
import type { Job } from "bullmq";
import { expect, it, onTestFinished } from "vitest";
import { minuteMs, systemClock } from "#core/time.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";

import { openQueue } from "#engine/queue/open-queue.ts";
import { profileJobs } from "#engine/queue/profile-queue.ts";
import { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import { Queues } from "#jobs/runs/work/queues.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { keptBounds, submit } from "../ledger/run-of.ts";

const { redis, keys, connect } = openTestRedis();
const ledger = new Ledger({ redis, keys, clock: systemClock, bounds: keptBounds });

/** Takes the next job as a worker with this clock would, and delays it. */
async function delayBy(job: Job | undefined, delayMs: number, aheadMs: number): Promise<void> {
  if (job === undefined) throw new Error("no job");
  const { now } = Date;
  Date.now = () => now() + aheadMs;
  try {
    await job.changeDelay(delayMs);
  } finally {
    Date.now = now;
  }
}

it("a segment that a process with a fast clock has delayed starts soon, and one that has to wait keeps waiting", async () => {
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

it("work of a profile that a process with a fast clock has delayed starts soon", async () => {
  const kind = { queue: "far", job: "work", jobId: "the-work" };
  const jobs = profileJobs(kind, {
    connect,
    keys,
    clock: systemClock,
    workerRegistry: new WorkerRegistry({ redis, keys }),
  });
  onTestFinished(() => jobs.close());
  const queue = await openQueue("far-default", { redis, keys });
  onTestFinished(() => queue.close());
  const { now } = Date;
  Date.now = () => now() + 60 * minuteMs;
  await queue.add("later", {}, { jobId: "later", delay: 5_000 });
  Date.now = now;
  const worked: string[] = [];
  const working = await jobs.consume("default", {
    work: (profile) => {
      worked.push(profile);
      return Promise.resolve({ kind: "ended" });
    },
    status: () => Promise.resolve("none"),
    onIncident: () => undefined,
  });
  onTestFinished(() => working.stop());
  await until("the work was taken", () => worked.length > 0);
});
