/**
 * Finds delayed jobs that would wait longer than they should. A process whose clock was ahead delayed them: once the
 * clock is right again, they would wait for as long as it was ahead.
 */
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { clockToleranceMs } from "#core/time.ts";

/** Of those that wait longest. */
const lookedAt = 100;
/** BullMQ keeps a time in the upper bits of a job's score. */
const scorePerMs = 0x1000;

/** Makes them start at once. */
export async function promoteFarJobs(queue: Queue, redis: Redis, nowMs: number): Promise<void> {
  const last = await redis.zrevrange(queue.toKey("delayed"), 0, lookedAt - 1, "WITHSCORES");
  for (let at = 0; at < last.length; at += 2) {
    const leftMs = Math.floor(Number(last[at + 1]) / scorePerMs) - nowMs;
    if (leftMs <= clockToleranceMs) return;
    const job = await queue.getJob(last[at] ?? "");
    // One that has just become due, or was promoted by another process, starts without help.
    if (job !== undefined && leftMs > job.delay + clockToleranceMs) await job.promote().catch(() => undefined);
  }
}
