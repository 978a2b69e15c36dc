/**
 * The BullMQ queues of one kind of work, one per key (a profile, a webhook). A job only triggers the work: the store records
 * what there is to do, and jobs that were lost are added again from it.
 */
import type { Queue, QueueOptions, Job } from "bullmq";
import type { Redis } from "ioredis";
import { type Clock, every } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import type { JobResult, WorkResult, Working, Incident } from "./job-result.ts";
import { jobOptions, openQueue } from "./open-queue.ts";
import type { QueueWorkerOptions } from "./queue-worker.ts";
import { repairTimes } from "./wrong-times.ts";
import type { WorkerRegistry } from "./worker-registry.ts";
import { messageOf } from "#core/errors.ts";

const restoreIntervalMs = 5_000;

export interface QueueDeps {
  readonly connect: (name: string) => Redis;
  readonly keys: Keys;
  readonly workerRegistry: WorkerRegistry;
  readonly clock: Clock;
}

export interface Consumer<Data, Result> extends Omit<QueueWorkerOptions<Data, Result>, keyof QueueDeps | "queue"> {
  /** Adds jobs for work that has none; called at the start and then every 5 s. It must not throw. */
  readonly restore: () => Promise<void> | void;
}

export interface KindOfQueue<Data> {
  readonly connection: string;
  /** The name of a key's queue. */
  readonly nameOf: (key: string) => string;
  readonly queueOptions?: Partial<QueueOptions>;
  readonly onOpen?: (queue: Queue<Data>) => Promise<unknown>;
}

export function workQueues<Data, Result extends JobResult | WorkResult = WorkResult>(
  kind: KindOfQueue<Data>,
  deps: QueueDeps,
) {
  const open = new Map<string, Promise<Queue<Data>>>();
  let redis: Redis | undefined;
  const queueOf = (key: string): Promise<Queue<Data>> => {
    let queue = open.get(key);
    if (queue === undefined) {
      queue = openOne(key);
      queue.catch(() => open.delete(key));
      open.set(key, queue);
    }
    return queue;
  };
  const openOne = async (key: string): Promise<Queue<Data>> => {
    redis ??= deps.connect(kind.connection);
    const options = { defaultJobOptions: jobOptions, ...kind.queueOptions };
    const queue = await openQueue<Data>(kind.nameOf(key), { redis, keys: deps.keys, ...options });
    await kind.onOpen?.(queue);
    return queue;
  };
  return {
    /** The queue of a key; opened when it is used first. */
    queue: queueOf,

    /** Whether a live process handles the work of the key. */
    isServed: async (key: string) => (await deps.workerRegistry.workers(kind.nameOf(key))).length > 0,

    async consume(key: string, { restore, ...consumer }: Consumer<Data, Result>): Promise<Working> {
      const { QueueWorker } = await import("./queue-worker.ts");
      const queue = await queueOf(key);
      const worker = await QueueWorker.start<Data, Result>({ ...deps, ...consumer, queue });
      const repairAndRestore = async (): Promise<void> => {
        if (redis !== undefined) await repairTimes(queue, redis, deps.clock.wallMs()).catch(() => undefined);
        await restore();
      };
      await repairAndRestore();
      const stopRestoring = every(restoreIntervalMs, () => void repairAndRestore());
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
      await Promise.all([...open.values()].map(async (queue) => (await queue.catch(() => undefined))?.close()));
    },
  };
}

// Queues for work that a profile does one at a time: its sync, its rotations. Each queue holds at most one job, so the work
// never overlaps. The queues are separate from the segments' queues, so that the work starts at once even during a run
// that takes days; both share the quota. The store records what there is to do; the job only triggers it.

interface ProfileReference {
  readonly profile: string;
}

export interface KindOfWork {
  /** Prefix of the queue's name. */
  readonly queue: string;
  readonly job: string;
  readonly jobId: string;
}

/** Whether there is work now (`due`), work that is scheduled or in progress (`waiting`), or none. */
export type WorkStatus = "none" | "waiting" | "due";

export interface ProfileWork {
  readonly work: (profile: string, signal: AbortSignal) => Promise<WorkResult>;
  readonly status: (profile: string) => Promise<WorkStatus>;
  readonly onIncident: (incident: Incident) => void;
}

export type ProfileJobs = ReturnType<typeof profileJobs>;

export function profileJobs(kind: KindOfWork, deps: QueueDeps) {
  const { job, jobId } = kind;
  const nameOf = (profile: string): string => `${kind.queue}-${profile}`;
  const queues = workQueues<ProfileReference>({ connection: kind.queue, nameOf }, deps);

  /**
   * Enqueues the profile's work. Has no effect while the work is in progress.
   * @param others `now` also runs work at once that waits for a retry or has failed too often, because a user asked for it
   */
  const enqueue = async (profile: string, others: "leave" | "now" = "leave"): Promise<void> => {
    const queue = await queues.queue(profile);
    if (others === "now") {
      const present: Job<ProfileReference> | undefined = await queue.getJob(jobId);
      if (await present?.isFailed()) await present?.remove();
      if (await present?.isDelayed()) await present?.promote().catch(() => undefined);
    }
    await queue.add(job, { profile }, { jobId });
  };

  const consume = (profile: string, { work, status, onIncident }: ProfileWork): Promise<Working> => {
    /** Adds the job if there is work without one, or starts it if it is delayed although its work is due. */
    const restore = async (): Promise<void> => {
      try {
        const found = await status(profile);
        if (found !== "none") await enqueue(profile, found === "due" ? "now" : "leave");
      } catch (thrown) {
        onIncident({ message: `the job ${job} could not be put back into the queue: ${messageOf(thrown)}` });
      }
    };
    return queues.consume(profile, {
      atOnce: 1,
      work: (_, signal) => work(profile, signal),
      restore,
      // Work that was created just as the previous job ended has no job yet.
      afterReporting: () => void restore(),
      onIncident: ({ message }) => onIncident({ message }),
    });
  };

  const { isServed, close } = queues;
  return { enqueue, isServed, consume, close };
}

const states = ["waiting", "active", "delayed", "failed", "prioritized"] as const;

/**
 * Counts the jobs of every queue in Redis, for the metrics. `openQueue` adds each name to a list in Redis, so a new kind of
 * work appears without being named in this file.
 */
export function queueDepths(deps: QueueDeps & { readonly redis: Redis }) {
  const { queue: queueOf, close } = workQueues({ connection: "board", nameOf: (name) => name }, deps);
  const depths = async () => {
    const names = await deps.redis.smembers(deps.keys.queueNames());
    const readings = names.toSorted().map(async (queue) => {
      const counts = await (await queueOf(queue)).getJobCounts(...states);
      return states.map((state) => ({ metric: "jobs" as const, value: counts[state] ?? 0, labels: { queue, state } }));
    });
    return (await Promise.all(readings)).flat();
  };
  return { depths, close };
}
