/**
 * Repairs times that a wrong clock has written into a queue, so that nothing waits until the right clock is as late:
 * - delayed jobs, after the clock of a process was ahead;
 * - keys that expire, after Redis's clock was set back or a server with another clock took over: locks of dead workers,
 *   holds of the queue, and BullMQ's own check for stalled jobs.
 */
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { clockToleranceMs } from "#core/time.ts";

/** No hold, nor count of started jobs, lasts longer. */
export const maxHoldMs = 30_000;
/** After a worker is killed, another worker picks up its jobs within 5 to 15 s. */
export const lockMs = 10_000;
export const stalledCheckMs = 5_000;
/** Number of delayed jobs that are looked at, those that wait longest. */
const lookedAt = 100;
/** BullMQ keeps a time in the upper bits of a job's score. */
const scorePerMs = 0x1000;

export async function repairTimes(queue: Queue, redis: Redis, nowMs: number): Promise<void> {
  await Promise.all([shortenExpiries(queue, redis), promoteFarJobs(queue, redis, nowMs)]);
}

async function shortenExpiries(queue: Queue, redis: Redis): Promise<void> {
  const active = await redis.lrange(queue.toKey("active"), 0, -1);
  const shorten = async (key: string, maxMs: number, leftMs: number): Promise<void> => {
    if ((await redis.pttl(queue.toKey(key))) > maxMs + clockToleranceMs) await redis.pexpire(queue.toKey(key), leftMs);
  };
  await Promise.all([
    shorten("limiter", maxHoldMs, 0),
    shorten("stalled-check", stalledCheckMs, 0),
    // A live worker renews its locks before they end.
    ...active.map((jobId) => shorten(`${jobId}:lock`, lockMs, lockMs)),
  ]);
}

async function promoteFarJobs(queue: Queue, redis: Redis, nowMs: number): Promise<void> {
  const last = await redis.zrevrange(queue.toKey("delayed"), 0, lookedAt - 1, "WITHSCORES");
  for (let at = 0; at < last.length; at += 2) {
    const leftMs = Math.floor(Number(last[at + 1]) / scorePerMs) - nowMs;
    if (leftMs <= clockToleranceMs) return;
    const job = await queue.getJob(last[at] ?? "");
    // One that has just become due, or was promoted by another process, starts without help.
    if (job !== undefined && leftMs > job.delay + clockToleranceMs) await job.promote().catch(() => undefined);
  }
}
