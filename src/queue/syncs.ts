/** The queue of a profile's syncs: one at a time. */
import type { SyncVerdict } from "#jobs/job.ts";
import type { Trouble, Working } from "./consumer.ts";
import { ProfileJobs, type ProfileJobsOptions } from "./profile-jobs.ts";

/** What the syncs' consumer needs of the house. */
export interface SyncHouse {
  readonly sync: (profile: string, signal: AbortSignal) => Promise<SyncVerdict>;
  readonly isUnderWay: (profile: string) => Promise<boolean>;
  readonly onTrouble: (trouble: Trouble) => void;
}

export class SyncQueues {
  readonly #jobs: ProfileJobs;

  constructor(options: ProfileJobsOptions) {
    this.#jobs = new ProfileJobs({ queue: "syncs", job: "sync-inventory", jobId: "the-sync" }, options);
  }

  /** As of `ProfileJobs`. */
  enqueue(profile: string, others: "leave" | "now" = "leave"): Promise<void> {
    return this.#jobs.enqueue(profile, others);
  }

  /** Whether a live process works on the syncs of the profile. */
  isServed(profile: string): Promise<boolean> {
    return this.#jobs.isServed(profile);
  }

  /** Works on the syncs of a profile until it is stopped. */
  consume(profile: string, { sync, isUnderWay, onTrouble }: SyncHouse): Promise<Working> {
    return this.#jobs.consume(profile, {
      onTrouble,
      // One that waits for the quota is not taken up before its time.
      standing: async (name) => ((await isUnderWay(name)) ? "waiting" : "none"),
      work: async (name, signal) => {
        const verdict = await sync(name, signal);
        if (verdict.kind === "postponed") {
          const { reason, refusal } = verdict;
          onTrouble({ message: reason, isInReport: true, ...(refusal === undefined ? {} : { refusal }) });
        }
        return verdict;
      },
    });
  }

  close(): Promise<void> {
    return this.#jobs.close();
  }
}
