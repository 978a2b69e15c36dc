/**
 * Queues for work that a profile does one at a time: its sync, its rotations. Each queue holds at most one job, so the work
 * never overlaps. The queues are separate from the segments' queues, so that the work starts at once even during a run
 * that takes days; both share the quota. The store records what there is to do; the job only triggers it.
 */
import type { Job } from "bullmq";
import { messageOf } from "#core/errors.ts";
import type { WorkResult } from "./job-result.ts";
import { type QueueDeps, workQueues } from "./work-queues.ts";
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

export type ProfileJobs = ReturnType<typeof profileJobs>;

export function profileJobs(kind: KindOfWork, deps: ProfileJobsOptions) {
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

  /** Processes the work of a profile until stopped. */
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
