/**
 * The BullMQ queues of one kind of work, one per key (a profile, a webhook). A job only triggers the work: the store
 * records what to do, and lost jobs are added again from it. Loads BullMQ on first use: most commands need no queue.
 */
import type { JobsOptions, Queue } from "bullmq";
import type { Lifecycle } from "#core/process/lifecycle.ts";
import type { Working } from "./job-result.ts";
import type { QueueWorkerDeps, QueueWorkerOptions } from "./queue-worker.ts";

export interface QueueDeps extends QueueWorkerDeps {
  /** Stops the workers, and then closes the queues. */
  readonly lifecycle: Pick<Lifecycle, "onStop">;
}

type Consumer<Data> = Omit<QueueWorkerOptions<Data>, keyof QueueDeps | "queue">;

export interface KindOfQueue<Data> {
  /** The name of a key's queue. */
  readonly nameOf: (key: string) => string;
  readonly jobOptions?: JobsOptions;
  readonly onOpen?: (queue: Queue<Data>) => Promise<unknown>;
}

/** A job is retried after internal faults (Redis full, a bug) without a limit: nobody has to start it again. */
const usualJobOptions: JobsOptions = {
  removeOnComplete: true,
  removeOnFail: false,
  attempts: Number.MAX_SAFE_INTEGER,
  backoff: { type: "custom" },
};

export function workQueues<Data>(kind: KindOfQueue<Data>, deps: QueueDeps) {
  const { redis, keys, workerRegistry, lifecycle } = deps;
  const open = new Map<string, Promise<Queue<Data>>>();
  const openOne = async (name: string): Promise<Queue<Data>> => {
    const { Queue: QueueOfBullMq } = await import("bullmq");
    const defaultJobOptions = { ...usualJobOptions, ...kind.jobOptions };
    const queue = new QueueOfBullMq<Data>(name, { connection: redis, prefix: keys.queues(), defaultJobOptions });
    // The connection reports its own errors.
    queue.on("error", () => undefined);
    // Metrics read this list instead of scanning the keys of Redis.
    redis.sadd(keys.queueNames(), name).catch(() => undefined);
    await kind.onOpen?.(queue);
    return queue;
  };
  lifecycle.onStop("queues", async () => {
    await Promise.all([...open.values()].map(async (queue) => (await queue.catch(() => undefined))?.close()));
  });
  /** The queue of a key; opened when it is used first. */
  const openQueue = (key: string): Promise<Queue<Data>> => {
    const name = kind.nameOf(key);
    const queue = open.get(name) ?? openOne(name);
    open.set(name, queue);
    queue.catch(() => open.delete(name));
    return queue;
  };
  return {
    queue: openQueue,

    /** Whether a live process handles the work of the key. */
    isServed: async (key: string) => (await workerRegistry.workers(kind.nameOf(key))).length > 0,

    async consume(key: string, consumer: Consumer<Data>): Promise<Working> {
      const { QueueWorker } = await import("./queue-worker.ts");
      const worker = new QueueWorker<Data>({ ...deps, ...consumer, queue: await openQueue(key) });
      await worker.start();
      lifecycle.onStop(kind.nameOf(key), () => worker.stop());
      return worker;
    },
  };
}

const states = ["waiting", "active", "delayed", "failed", "prioritized"] as const;

/**
 * Counts the jobs of every queue in Redis, for the metrics. An open queue is in a list in Redis, so a new kind of
 * work appears without being named in this file.
 * @returns reads the counts
 */
export function queueDepths(deps: QueueDeps) {
  const { queue: openQueue } = workQueues({ nameOf: (name) => name }, deps);
  return async () => {
    const names = await deps.redis.smembers(deps.keys.queueNames());
    const readings = names.toSorted().map(async (queue) => {
      const counts = await (await openQueue(queue)).getJobCounts(...states);
      return states.map((state) => ({ metric: "jobs" as const, value: counts[state] ?? 0, labels: { queue, state } }));
    });
    return (await Promise.all(readings)).flat();
  };
}
