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

// Counts the jobs of every queue in Redis, for the metrics. `openQueue` adds each name to a list in Redis, so a new kind of
// work appears without being named in this file.

export interface QueueDepth {
  readonly queue: string;
  readonly state: string;
  readonly jobs: number;
}

const states = ["waiting", "active", "delayed", "failed", "prioritized"] as const;

export class QueueDepths {
  readonly #connect: (name: string) => Redis;
  readonly #keys: Keys;
  readonly #open = new Map<string, Promise<Queue>>();
  #redis: Redis | undefined;

  constructor(deps: { connect: (name: string) => Redis; keys: Keys }) {
    this.#connect = deps.connect;
    this.#keys = deps.keys;
  }

  async depths(): Promise<QueueDepth[]> {
    const queues = await this.#queues();
    const depths = queues.map(async (queue) => {
      const counts = await queue.getJobCounts(...states);
      return states.map((state) => ({ queue: queue.name, state, jobs: counts[state] ?? 0 }));
    });
    return (await Promise.all(depths)).flat();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(async (open) => (await open).close()));
  }

  async #queues(): Promise<Queue[]> {
    const redis = (this.#redis ??= this.#connect("board"));
    const names = await redis.smembers(this.#keys.queueNames());
    return Promise.all(names.toSorted().map((name) => this.#queue(name, redis)));
  }

  #queue(name: string, redis: Redis): Promise<Queue> {
    let open = this.#open.get(name);
    if (open === undefined) {
      open = openQueue(name, { redis, keys: this.#keys });
      this.#open.set(name, open);
    }
    return open;
  }
}
