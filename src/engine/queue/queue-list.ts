/**
 * Lists every queue in Redis, for the admin's queue board and for the queue depth metrics. `openQueue` adds each name to
 * a list in Redis, so a new kind of work appears without being named in this file.
 */
import type { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
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

interface OpenQueue {
  readonly queue: Queue;
  adapter: BullMQAdapter | undefined;
}

export class QueueBoard {
  readonly #connect: (name: string) => Redis;
  readonly #keys: Keys;
  readonly #open = new Map<string, Promise<OpenQueue>>();
  #redis: Redis | undefined;

  constructor(deps: { connect: (name: string) => Redis; keys: Keys }) {
    this.#connect = deps.connect;
    this.#keys = deps.keys;
  }

  /** Adapters for bull-board, sorted by queue name. Loads bull-board on first use. */
  async adapters({ isReadOnly }: { isReadOnly: boolean }): Promise<BullMQAdapter[]> {
    const { BullMQAdapter: Adapter } = await import("@bull-board/api/bullMQAdapter");
    return (await this.#queues()).map(
      (open) => (open.adapter ??= new Adapter(open.queue, { readOnlyMode: isReadOnly })),
    );
  }

  async depths(): Promise<QueueDepth[]> {
    const queues = await this.#queues();
    const depths = queues.map(async ({ queue }) => {
      const counts = await queue.getJobCounts(...states);
      return states.map((state) => ({ queue: queue.name, state, jobs: counts[state] ?? 0 }));
    });
    return (await Promise.all(depths)).flat();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(async (open) => (await open).queue.close()));
  }

  async #queues(): Promise<OpenQueue[]> {
    const redis = (this.#redis ??= this.#connect("board"));
    const names = await redis.smembers(this.#keys.queueNames());
    return Promise.all(names.toSorted().map((name) => this.#queue(name, redis)));
  }

  #queue(name: string, redis: Redis): Promise<OpenQueue> {
    let open = this.#open.get(name);
    if (open === undefined) {
      open = openQueue(name, { redis, keys: this.#keys }).then((queue) => ({ queue, adapter: undefined }));
      this.#open.set(name, open);
    }
    return open;
  }
}
