/**
 * Opens a BullMQ queue with the common options and adds its name to the list of queues. Metrics and the queue board read
 * that list instead of scanning the keys of Redis. Loads BullMQ on first use: most commands need no queue.
 */
import type { Queue, QueueOptions } from "bullmq";
import type { Redis } from "ioredis";
import type { Keys } from "#redis/keys.ts";

export async function openQueue<Data>(
  name: string,
  { redis, keys, ...options }: { redis: Redis; keys: Keys } & Partial<QueueOptions>,
): Promise<Queue<Data>> {
  const bullmq = await import("bullmq");
  const queue = new bullmq.Queue<Data>(name, { ...options, connection: redis, prefix: keys.queues() });
  // The connection reports its own errors.
  queue.on("error", () => undefined);
  redis.sadd(keys.queueNames(), name).catch(() => undefined);
  return queue;
}
