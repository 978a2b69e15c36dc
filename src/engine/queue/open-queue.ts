/**
 * Opens a BullMQ queue with the common options and adds its name to the list of queues. Metrics and the queue board read
 * that list instead of scanning the keys of Redis. Loads BullMQ on first use: most commands need no queue.
 */
import type { Queue, QueueOptions } from "bullmq";
import type { Redis } from "ioredis";
import type { Keys } from "#redis/keys.ts";
import { backoffMs } from "#core/backoff.ts";

export async function openQueue<Data>(
  name: string,
  { redis, keys, ...options }: { redis: Redis; keys: Keys } & Partial<QueueOptions>,
): Promise<Queue<Data>> {
  const { Queue: QueueOfBullMq } = await import("bullmq");
  const queue = new QueueOfBullMq<Data>(name, { ...options, connection: redis, prefix: keys.queues() });
  // The connection reports its own errors.
  queue.on("error", () => undefined);
  redis.sadd(keys.queueNames(), name).catch(() => undefined);
  return queue;
}

// Options shared by every job of every queue.

/** A job is retried after internal faults (Redis full, a bug) without a limit: nobody has to start it again. */
export const jobOptions = {
  removeOnComplete: true,
  removeOnFail: false,
  attempts: Number.MAX_SAFE_INTEGER,
  backoff: { type: "custom" },
};
const faultBackoff = { baseMs: 500, capMs: 30_000 };

export function faultBackoffMs(attempt: number): number {
  return backoffMs(faultBackoff, attempt);
}
