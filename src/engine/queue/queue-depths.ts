/**
 * Counts the jobs of every queue in Redis, for the metrics. `openQueue` adds each name to a list in Redis, so a new kind of
 * work appears without being named in this file.
 */
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { Keys } from "#redis/keys.ts";
import { openQueue } from "./open-queue.ts";

/** Number of jobs of one queue in one state. */
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
