/**
 * The BullMQ queues of one kind of work, one per key (a profile, a webhook). A job only triggers the work: the store records
 * what there is to do, and jobs that were lost are added again from it.
 */
import type { Queue, QueueOptions } from "bullmq";
import type { Redis } from "ioredis";
import { type Clock, every } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import type { WorkResult } from "./job-result.ts";
import { jobOptions } from "./job-options.ts";
import { openQueue } from "./open-queue.ts";
import type { QueueWorkerOptions } from "./queue-worker.ts";
import { repairTimes } from "./wrong-times.ts";
import type { WorkerRegistry } from "./worker-registry.ts";
import type { Working } from "./working.ts";

/** What every queue and consumer needs. */
export interface QueueDeps {
  readonly connect: (name: string) => Redis;
  readonly keys: Keys;
  readonly workerRegistry: WorkerRegistry;
  readonly clock: Clock;
}

export interface Consumer<Data> extends Pick<
  QueueWorkerOptions<Data, WorkResult>,
  "atOnce" | "work" | "afterReporting" | "repeatStrategy" | "onIncident"
> {
  /** Adds jobs for work that has none; called at the start and then regularly. It must not throw. */
  readonly restore: () => Promise<void> | void;
  /** Time between two calls of `restore`, ms; 5,000 by default. */
  readonly restoreEveryMs?: number;
}

export interface WorkQueues<Data> {
  /** The queue of a key; opened when it is used first. */
  readonly queue: (key: string) => Promise<Queue<Data>>;
  /** Whether a live process handles the work of the key. */
  readonly isServed: (key: string) => Promise<boolean>;
  /** Processes the work of a key until stopped. */
  readonly consume: (key: string, consumer: Consumer<Data>) => Promise<Working>;
  readonly close: () => Promise<void>;
}

/** @param kind `connection` names the connection to Redis, `nameOf` the queue of a key */
export function workQueues<Data>(
  kind: { connection: string; nameOf: (key: string) => string; queueOptions?: Partial<QueueOptions> },
  deps: QueueDeps,
): WorkQueues<Data> {
  const open = new Map<string, Promise<Queue<Data>>>();
  let redis: Redis | undefined;
  const queueOf = (key: string): Promise<Queue<Data>> => {
    let queue = open.get(key);
    if (queue === undefined) {
      redis ??= deps.connect(kind.connection);
      const options = { defaultJobOptions: jobOptions, ...kind.queueOptions };
      queue = openQueue<Data>(kind.nameOf(key), { redis, keys: deps.keys, ...options });
      open.set(key, queue);
    }
    return queue;
  };
  return {
    queue: queueOf,
    isServed: async (key) => (await deps.workerRegistry.workers(kind.nameOf(key))).length > 0,
    async consume(key, { restore, restoreEveryMs = 5_000, ...consumer }) {
      const { QueueWorker } = await import("./queue-worker.ts");
      const queue = await queueOf(key);
      const worker = await QueueWorker.start<Data, WorkResult>({ ...deps, ...consumer, queue });
      const repairAndRestore = async (): Promise<void> => {
        if (redis !== undefined) await repairTimes(queue, redis, deps.clock.wallMs()).catch(() => undefined);
        await restore();
      };
      await repairAndRestore();
      const stopRestoring = every(restoreEveryMs, () => void repairAndRestore());
      return {
        isMoving: (withinMs) => worker.isMoving(withinMs),
        restart: () => worker.restart(),
        stop: () => {
          stopRestoring();
          return worker.stop();
        },
      };
    },
    close: async () => {
      await Promise.all([...open.values()].map(async (queue) => (await queue).close()));
    },
  };
}
