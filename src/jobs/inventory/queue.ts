/** The queue of a profile's syncs: one at a time. */
import type { WorkResult } from "#engine/queue/job-result.ts";
import type { Incident, Working } from "#engine/queue/working.ts";
import { ProfileJobs, type ProfileJobsOptions } from "#engine/queue/profile-queue.ts";

/** Dependencies of the consumer of syncs. */
export interface SyncDeps {
  readonly sync: (profile: string, signal: AbortSignal) => Promise<WorkResult>;
  readonly isInProgress: (profile: string) => Promise<boolean>;
  readonly onIncident: (incident: Incident) => void;
}

export class SyncQueues {
  readonly #jobs: ProfileJobs;

  constructor(options: ProfileJobsOptions) {
    this.#jobs = new ProfileJobs({ queue: "syncs", job: "sync-inventory", jobId: "the-sync" }, options);
  }

  /** See `ProfileJobs`. */
  enqueue(profile: string, others: "leave" | "now" = "leave"): Promise<void> {
    return this.#jobs.enqueue(profile, others);
  }

  /** Whether a live process handles the syncs of the profile. */
  isServed(profile: string): Promise<boolean> {
    return this.#jobs.isServed(profile);
  }

  /** Processes the syncs of a profile until stopped. */
  consume(profile: string, { sync, isInProgress, onIncident }: SyncDeps): Promise<Working> {
    return this.#jobs.consume(profile, {
      onIncident,
      // Never `due`: a sync that waits for the quota must not start early.
      status: async (name) => ((await isInProgress(name)) ? "waiting" : "none"),
      work: async (name, signal) => {
        const result = await sync(name, signal);
        if (result.kind === "postponed") {
          const { reason, refusal } = result;
          onIncident({ message: reason, isInReport: true, ...(refusal === undefined ? {} : { refusal }) });
        }
        return result;
      },
    });
  }

  close(): Promise<void> {
    return this.#jobs.close();
  }
}
