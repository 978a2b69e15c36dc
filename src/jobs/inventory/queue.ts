/** The queue of a profile's syncs: one at a time. */
import type { WorkResult } from "#engine/queue/job-result.ts";
import type { Incident, Working } from "#engine/queue/working.ts";
import { type ProfileJobsOptions, profileJobs } from "#engine/queue/profile-queue.ts";

/** Dependencies of the consumer of syncs. */
export interface SyncDeps {
  readonly sync: (profile: string, signal: AbortSignal) => Promise<WorkResult>;
  readonly isInProgress: (profile: string) => Promise<boolean>;
  readonly onIncident: (incident: Incident) => void;
}

export type SyncQueues = ReturnType<typeof syncQueues>;

export function syncQueues(options: ProfileJobsOptions) {
  const jobs = profileJobs({ queue: "syncs", job: "sync-inventory", jobId: "the-sync" }, options);

  /** Processes the syncs of a profile until stopped. */
  const consume = (profile: string, { sync, isInProgress, onIncident }: SyncDeps): Promise<Working> =>
    jobs.consume(profile, {
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

  return { ...jobs, consume };
}
