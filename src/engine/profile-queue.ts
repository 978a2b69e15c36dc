/**
 * Queues of work that a profile has one piece of at a time: its sync, its rotations. Each holds one job at most, so that
 * the work never overlaps, and is apart from the segments' queues, so that it begins at once while a run of days is under
 * way: they share the quota. The store knows what there is to do; the job is only the turn to do it.
 */
import type { Job, Queue } from "bullmq";
import type { Redis } from "ioredis";
import { messageOf } from "#core/errors.ts";
import { type Clock, every } from "#core/time.ts";
import type { WorkResult } from "./job-result.ts";
import type { Keys } from "#redis/keys.ts";
import type { Incident, Working } from "./working.ts";
import type { WorkerRegistry } from "./worker-registry.ts";
import { openQueue } from "./open-queue.ts";
import { QueueWorker } from "./queue-worker.ts";
import { jobOptions } from "./job-options.ts";

interface ProfileReference {
  readonly profile: string;
}

/** How one kind of work is called in Redis. */
export interface KindOfWork {
  /** Begins the queue's name. */
  readonly queue: string;
  readonly job: string;
  readonly jobId: string;
}

export interface ProfileJobsOptions {
  readonly connect: (name: string) => Redis;
  readonly keys: Keys;
  readonly workerRegistry: WorkerRegistry;
  readonly clock: Clock;
}

/** Whether there is work now (`due`), work that waits for its time or is being done (`waiting`), or none. */
export type Standing = "none" | "waiting" | "due";

/** What the consumer needs of the house. */
export interface ProfileWork {
  readonly work: (profile: string, signal: AbortSignal) => Promise<WorkResult>;
  readonly status: (profile: string) => Promise<Standing>;
  readonly onIncident: (incident: Incident) => void;
}

const restoreEveryMs = 5_000;

export class ProfileJobs {
  readonly #kind: KindOfWork;
  readonly #options: ProfileJobsOptions;
  readonly #open = new Map<string, Queue<ProfileReference>>();
  #redis: Redis | undefined;

  constructor(kind: KindOfWork, options: ProfileJobsOptions) {
    this.#kind = kind;
    this.#options = options;
  }

  /**
   * Has the profile's work done; while it is, doing it again changes nothing.
   * @param others `now` takes up at once what waits for a later try, or failed too often: a person has asked for it
   */
  async enqueue(profile: string, others: "leave" | "now" = "leave"): Promise<void> {
    const { job, jobId } = this.#kind;
    const queue = this.#queue(profile);
    if (others === "now") {
      const present: Job<ProfileReference> | undefined = await queue.getJob(jobId);
      if (await present?.isFailed()) await present?.remove();
      if (await present?.isDelayed()) await present?.promote().catch(() => undefined);
    }
    await queue.add(job, { profile }, { jobId });
  }

  /** Whether a live process does this work of the profile. */
  async isServed(profile: string): Promise<boolean> {
    return (await this.#options.workerRegistry.workers(this.#queueName(profile))).length > 0;
  }

  /** Does the work of a profile until it is stopped. */
  async consume(profile: string, deps: ProfileWork): Promise<Working> {
    const restore = (): Promise<void> => this.#restore(profile, deps);
    const worker = await QueueWorker.start<ProfileReference, WorkResult>({
      ...this.#options,
      queue: this.#queue(profile),
      atOnce: 1,
      work: (_, signal) => deps.work(profile, signal),
      // What was begun while the work before was just ending has no job yet.
      afterReporting: () => void restore(),
      onIncident: ({ message }) => deps.onIncident({ message }),
    });
    await restore();
    const stopRestoring = every(restoreEveryMs, () => void restore());
    return {
      isMoving: (withinMs) => worker.isMoving(withinMs),
      stop: () => {
        stopRestoring();
        return worker.stop();
      },
    };
  }

  /** Puts in the job of work that has none, or that waits although its time has come. */
  async #restore(profile: string, { status, onIncident }: ProfileWork): Promise<void> {
    try {
      const stands = await status(profile);
      if (stands !== "none") await this.enqueue(profile, stands === "due" ? "now" : "leave");
    } catch (thrown) {
      const what = this.#kind.job;
      onIncident({ message: `the job ${what} could not be put back into the queue: ${messageOf(thrown)}` });
    }
  }

  #queueName(profile: string): string {
    return `${this.#kind.queue}-${profile}`;
  }

  #queue(profile: string): Queue<ProfileReference> {
    let queue = this.#open.get(profile);
    if (queue === undefined) {
      this.#redis ??= this.#options.connect(this.#kind.queue);
      queue = openQueue<ProfileReference>(this.#queueName(profile), {
        redis: this.#redis,
        keys: this.#options.keys,
        defaultJobOptions: jobOptions,
      });
      this.#open.set(profile, queue);
    }
    return queue;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((queue) => queue.close()));
  }
}
