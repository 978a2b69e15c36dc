/**
 * Queues for work that a profile does one at a time: its sync, its rotations. Each queue holds at most one job, so the work
 * never overlaps. The queues are separate from the segments' queues, so that the work starts at once even during a run
 * that takes days; both share the quota. The store records what there is to do; the job only triggers it.
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

/** Names of one kind of work in Redis. */
export interface KindOfWork {
  /** Prefix of the queue's name. */
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

/** Whether there is work now (`due`), work that is scheduled or in progress (`waiting`), or none. */
export type Standing = "none" | "waiting" | "due";

/** Dependencies of the consumer. */
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
   * Enqueues the profile's work. Has no effect while the work is in progress.
   * @param others `now` also runs work at once that waits for a retry or has failed too often, because a user asked for it
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

  /** Whether a live process handles this work of the profile. */
  async isServed(profile: string): Promise<boolean> {
    return (await this.#options.workerRegistry.workers(this.#queueName(profile))).length > 0;
  }

  /** Processes the work of a profile until stopped. */
  async consume(profile: string, deps: ProfileWork): Promise<Working> {
    const restore = (): Promise<void> => this.#restore(profile, deps);
    const worker = await QueueWorker.start<ProfileReference, WorkResult>({
      ...this.#options,
      queue: this.#queue(profile),
      atOnce: 1,
      work: (_, signal) => deps.work(profile, signal),
      // Work that was created just as the previous job ended has no job yet.
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

  /** Adds the job if there is work without one, or if the job is delayed although its work is due. */
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
