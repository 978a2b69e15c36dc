/**
 * The queue of a profile's rotations: one job looks after all of them. It waits for hours between two looks, and comes
 * back at once where a rotation is due, so that one that begins does not wait for the grace of another.
 */
import { ProfileJobs, type ProfileJobsOptions } from "#engine/profile-queue.ts";

export function rotationQueues(options: ProfileJobsOptions): ProfileJobs {
  return new ProfileJobs({ queue: "rotations", job: "rotate-credentials", jobId: "the-rotations" }, options);
}
