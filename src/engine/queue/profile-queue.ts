/**
 * Queues for work that a profile does one at a time: its sync, its rotations. Each queue holds at most one job, so the work
 * never overlaps. The queues are separate from the segments' queues, so that the work starts at once even during a run
 * that takes days; both share the quota. The store records what there is to do; the job only triggers it.
 */
import type { Job } from "bullmq";
import { messageOf } from "#core/errors.ts";
import type { WorkResult } from "./job-result.ts";
import { type QueueDeps, type WorkQueues, workQueues } from "./work-queues.ts";
import type { Incident, Working } from "./working.ts";

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

export type ProfileJobsOptions = QueueDeps;

/** Whether there is work now (`due`), work that is scheduled or in progress (`waiting`), or none. */
export type WorkStatus = "none" | "waiting" | "due";

/** Dependencies of the consumer. */
export interface ProfileWork {
  readonly work: (profile: string, signal: AbortSignal) => Promise<WorkResult>;
  readonly status: (profile: string) => Promise<WorkStatus>;
  readonly onIncident: (incident: Incident) => void;
}

export class ProfileJobs {
  readonly #kind: KindOfWork;
  readonly #queues: WorkQueues<ProfileReference>;

  constructor(kind: KindOfWork, deps: ProfileJobsOptions) {
    this.#kind = kind;
    this.#queues = workQueues({ connection: kind.queue, nameOf: (profile) => `${kind.queue}-${profile}` }, deps);
  }

  /**
   * Enqueues the profile's work. Has no effect while the work is in progress.
   * @param others `now` also runs work at once that waits for a retry or has failed too often, because a user asked for it
   */
  async enqueue(profile: string, others: "leave" | "now" = "leave"): Promise<void> {
    const { job, jobId } = this.#kind;
    const queue = this.#queues.queue(profile);
    if (others === "now") {
      const present: Job<ProfileReference> | undefined = await queue.getJob(jobId);
      if (await present?.isFailed()) await present?.remove();
      if (await present?.isDelayed()) await present?.promote().catch(() => undefined);
    }
    await queue.add(job, { profile }, { jobId });
  }

  /** Whether a live process handles this work of the profile. */
  isServed(profile: string): Promise<boolean> {
    return this.#queues.isServed(profile);
  }

  /** Processes the work of a profile until stopped. */
  consume(profile: string, deps: ProfileWork): Promise<Working> {
    const restore = (): Promise<void> => this.#restore(profile, deps);
    return this.#queues.consume(profile, {
      atOnce: 1,
      work: (_, signal) => deps.work(profile, signal),
      restore,
      // Work that was created just as the previous job ended has no job yet.
      afterReporting: () => void restore(),
      onIncident: ({ message }) => deps.onIncident({ message }),
    });
  }

  /** Adds the job if there is work without one, or if the job is delayed although its work is due. */
  async #restore(profile: string, deps: ProfileWork): Promise<void> {
    try {
      const status = await deps.status(profile);
      if (status !== "none") await this.enqueue(profile, status === "due" ? "now" : "leave");
    } catch (thrown) {
      const what = this.#kind.job;
      deps.onIncident({ message: `the job ${what} could not be put back into the queue: ${messageOf(thrown)}` });
    }
  }

  close(): Promise<void> {
    return this.#queues.close();
  }
}
