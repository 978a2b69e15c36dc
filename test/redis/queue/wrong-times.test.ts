/** Times that a wrong clock has written do not make work wait until the right clock is as late. */
import type { Job } from "bullmq";
import { expect, it, onTestFinished, vi } from "vitest";
import { minuteMs, systemClock } from "#core/time.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { profileJobs } from "#engine/queue/named-jobs.ts";
import { workQueues } from "#engine/queue/work-queues.ts";
import { QueueWorker } from "#engine/queue/queue-worker.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { repairTimes } from "#engine/queue/wrong-times.ts";
import { runQueues } from "#jobs/runs/work/queue.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { keptBounds, submit } from "../ledger/run-of.ts";

const { redis, keys, connect, lifecycle } = openTestRedis();
const workerRegistry = openWorkerRegistry({ redis, keys });
const parts = { redis, connect, keys, clock: systemClock, workerRegistry, lifecycle };
const dayMs = 1_440 * minuteMs;
const ledger = new Ledger({ redis, keys, clock: systemClock, bounds: keptBounds });

const ending = () => Promise.resolve({ kind: "ended" } as const);

/** Acts as a process whose clock is ahead by an hour. */
async function actAhead(act: () => Promise<unknown>): Promise<void> {
  const { now } = Date;
  Date.now = () => now() + 60 * minuteMs;
  try {
    await act();
  } finally {
    Date.now = now;
  }
}

it("a segment that a process with a fast clock has delayed starts soon, and one that has to wait keeps waiting", async () => {
  const queues = runQueues({ ...parts, ledger });
  const run = await submit(ledger, [[1], [1]]);
  const queue = await queues.queue(run.bucket);
  for (const segment of [0, 1]) {
    const jobId = `${run.runId}-s${segment}`;
    await queue.add("process-segment", { runId: run.runId, segment }, { jobId, delay: minuteMs });
  }
  const first: Job | undefined = await queue.getJob(`${run.runId}-s0`);
  if (first === undefined) throw new Error("no job");
  await actAhead(() => first.changeDelay(5_000));
  await repairTimes(queue, redis, systemClock.wallMs());
  expect((await queue.getDelayed()).map(({ id }) => id)).toEqual([`${run.runId}-s1`]);
  expect((await queue.getWaiting()).map(({ id }) => id)).toEqual([`${run.runId}-s0`]);
});

it("work of a profile that a process with a fast clock has delayed starts soon", async () => {
  const jobs = profileJobs("far", parts);
  const queue = await jobs.queue("default");
  await actAhead(() => queue.add("later", { name: "default" }, { jobId: "later", delay: 5_000 }));
  const work = vi.fn(ending);
  const working = await jobs.consumeOne(
    { name: "default" },
    {
      work,
      status: () => Promise.resolve("none"),
      onIncident: () => undefined,
    },
  );
  onTestFinished(() => working.stop());
  await until("the work was taken", () => work.mock.calls.length > 0);
});

/** A key of a queue that Redis wrote before its clock was set back a day. */
async function expireInADay(key: string, text = "1"): Promise<void> {
  await redis.set(key, text, "PX", dayMs);
}

it("a lock, a hold and a check for stalled jobs that expire in a day are shortened", async () => {
  const queues = workQueues({ nameOf: (key) => key }, parts);
  const queue = await queues.queue("late");
  await queue.add("job", {}, { jobId: "the-job" });
  await redis.lmove(queue.toKey("wait"), queue.toKey("active"), "LEFT", "LEFT");
  const late = ["the-job:lock", "limiter", "stalled-check"].map((key) => queue.toKey(key));
  for (const key of late) await expireInADay(key);
  await repairTimes(queue, redis, systemClock.wallMs());
  const leftMs = await Promise.all(late.map((key) => redis.pttl(key)));
  expect(leftMs[0]).toBeLessThanOrEqual(10_000);
  expect(leftMs.slice(1)).toEqual([-2, -2]);
});

it("a queue that is held longer than any hold does not count as idle", async () => {
  const queue = await runQueues({ ...parts, ledger }).queue("held");
  const never = { onIncident: () => undefined, restore: () => undefined };
  const worker = new QueueWorker({ ...parts, ...never, redis, queue, atOnce: 1, work: ending });
  await worker.start();
  onTestFinished(() => worker.stop());
  await expireInADay(queue.toKey("limiter"), String(Number.MAX_SAFE_INTEGER));
  await queue.add("job", { runId: "r", segment: 0 });
  expect(await worker.isMoving(0)).toBe(false);
  await redis.pexpire(queue.toKey("limiter"), 5_000);
  expect(await worker.isMoving(0)).toBe(true);
});

it("a worker whose entry was written by a later clock counts as alive for its usual time at most", async () => {
  await redis.zadd(keys.liveWorkers("late"), Date.now() + dayMs, "dead");
  await workerRegistry.workers("late");
  expect(Number(await redis.zscore(keys.liveWorkers("late"), "dead"))).toBeLessThanOrEqual(Date.now() + 5_000);
});
