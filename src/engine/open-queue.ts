/**
 * Opens a BullMQ queue, the same way everywhere, and adds its name to the list of queues: whoever wants to see all of them
 * (metrics, the queue board) reads that list and has no need to scan the keys of Redis.
 */
import { Queue, type QueueOptions } from "bullmq";
import type { Redis } from "ioredis";
import type { Keys } from "#redis/keys.ts";

export function openQueue<Data>(
  name: string,
  { redis, keys, ...options }: { redis: Redis; keys: Keys } & Partial<QueueOptions>,
): Queue<Data> {
  const queue = new Queue<Data>(name, { ...options, connection: redis, prefix: keys.queues() });
  // The connection reports its errors itself.
  queue.on("error", () => undefined);
  redis.sadd(keys.queueNames(), name).catch(() => undefined);
  return queue;
}
