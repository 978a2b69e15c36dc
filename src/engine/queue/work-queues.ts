/**
 * The BullMQ queues of one kind of work, one per key (a profile, a webhook). A job only triggers the work: the store
 * records what to do, and lost jobs are added again from it. Loads BullMQ on first use: most commands need no queue.
 */
import type { JobsOptions, Queue, Job } from "bullmq";
import type { Redis } from "ioredis";
import type { Lifecycle } from "#core/process/lifecycle.ts";
import type { WorkResult, Working, Incident } from "./job-result.ts";
import type { QueueWorkerDeps, QueueWorkerOptions } from "./queue-worker.ts";

export interface QueueDeps extends QueueWorkerDeps {
  /** Stops the workers, and then closes the queues. */
  readonly lifecycle: Pick<Lifecycle, "onStop">;
}

type Consumer<Data> = Omit<QueueWorkerOptions<Data>, keyof QueueDeps | "queue" | "redis">;

export interface KindOfQueue<Data> {
  readonly connection: string;
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
  const { connect, keys, workerRegistry, lifecycle } = deps;
  const open = new Map<string, Promise<Queue<Data>>>();
  let connection: Redis | undefined;
  const redis = (): Redis => (connection ??= connect(kind.connection));
  const openOne = async (name: string): Promise<Queue<Data>> => {
    const { Queue: QueueOfBullMq } = await import("bullmq");
    const defaultJobOptions = { ...usualJobOptions, ...kind.jobOptions };
    const queue = new QueueOfBullMq<Data>(name, { connection: redis(), prefix: keys.queues(), defaultJobOptions });
    // The connection reports its own errors.
    queue.on("error", () => undefined);
    // Metrics read this list instead of scanning the keys of Redis.
    redis()
      .sadd(keys.queueNames(), name)
      .catch(() => undefined);
    await kind.onOpen?.(queue);
    return queue;
  };
  lifecycle.onStop(`queues of ${kind.connection}`, async () => {
    await Promise.all([...open.values()].map(async (queue) => (await queue.catch(() => undefined))?.close()));
  });
  /** The queue of a key; opened when it is used first. */
  const openQueue = (key: string): Promise<Queue<Data>> => {
    const queue = open.get(key) ?? openOne(kind.nameOf(key));
    open.set(key, queue);
    queue.catch(() => open.delete(key));
    return queue;
  };
  return {
    queue: openQueue,

    /** Whether a live process handles the work of the key. */
    isServed: async (key: string) => (await workerRegistry.workers(kind.nameOf(key))).length > 0,

    async consume(key: string, consumer: Consumer<Data>): Promise<Working> {
      const { QueueWorker } = await import("./queue-worker.ts");
      const worker = new QueueWorker<Data>({ ...deps, ...consumer, queue: await openQueue(key), redis: redis() });
      await worker.start();
      lifecycle.onStop(kind.nameOf(key), () => worker.stop());
      return worker;
    },
  };
}

// Queues for work that a profile does one at a time: its sync, its rotations. Each queue holds at most one job, so the
// work never overlaps. The queues are separate from the segments' queues, so that the work starts at once even during a
// run that takes days; both share the quota. The store records what there is to do; the job only triggers it.

interface ProfileReference {
  readonly profile: string;
}

/** Whether there is work now (`due`), work that is scheduled or in progress (`waiting`), or none. */
export type WorkStatus = "none" | "waiting" | "due";

export interface ProfileWork {
  readonly work: (profile: string, signal: AbortSignal) => Promise<WorkResult>;
  readonly status: (profile: string) => Promise<WorkStatus>;
  readonly onIncident: (incident: Incident) => void;
}

export type ProfileJobs = ReturnType<typeof profileJobs>;

/** @param name prefix of the names of the queues @param jobId the ID of every job, so that a queue holds at most one */
export function profileJobs(name: string, jobId: string, deps: QueueDeps) {
  const queues = workQueues<ProfileReference>({ connection: name, nameOf: (profile) => `${name}-${profile}` }, deps);

  /**
   * Enqueues the profile's work. Has no effect while the work is in progress.
   * @param others `now` also runs work at once that waits for a retry or failed too often, because a user asked for it
   */
  const enqueue = async (profile: string, others: "leave" | "now" = "leave"): Promise<void> => {
    const queue = await queues.queue(profile);
    if (others === "now") {
      const present: Job<ProfileReference> | undefined = await queue.getJob(jobId);
      if (await present?.isFailed()) await present?.remove();
      if (await present?.isDelayed()) await present?.promote().catch(() => undefined);
    }
    await queue.add(name, { profile }, { jobId });
  };

  const consume = (profile: string, { work, status, onIncident }: ProfileWork): Promise<Working> => {
    /** Adds the job if there is work without one, or starts it if it is delayed although its work is due. */
    const restore = async (): Promise<void> => {
      const found = await status(profile);
      if (found !== "none") await enqueue(profile, found === "due" ? "now" : "leave");
    };
    return queues.consume(profile, {
      atOnce: 1,
      work: (_, signal) => work(profile, signal),
      restore,
      // Work that was created just as the previous job ended has no job yet.
      afterReporting: restore,
      onIncident: ({ message }) => onIncident({ message }),
    });
  };

  return { ...queues, enqueue, consume };
}

const states = ["waiting", "active", "delayed", "failed", "prioritized"] as const;

/**
 * Counts the jobs of every queue in Redis, for the metrics. An open queue is in a list in Redis, so a new kind of
 * work appears without being named in this file.
 * @returns reads the counts
 */
export function queueDepths(deps: QueueDeps & { readonly redis: Redis }) {
  const { queue: openQueue } = workQueues({ connection: "board", nameOf: (name) => name }, deps);
  return async () => {
    const names = await deps.redis.smembers(deps.keys.queueNames());
    const readings = names.toSorted().map(async (queue) => {
      const counts = await (await openQueue(queue)).getJobCounts(...states);
      return states.map((state) => ({ metric: "jobs" as const, value: counts[state] ?? 0, labels: { queue, state } }));
    });
    return (await Promise.all(readings)).flat();
  };
}
