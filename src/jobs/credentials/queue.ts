/**
 * The queue of a profile's rotations: one job handles all of them. It may be delayed for hours between two polls, and runs
 * at once if a rotation is due, so that a new rotation does not wait for the grace period of another.
 */
import { type ProfileJobs, type ProfileJobsOptions, profileJobs } from "#engine/queue/profile-queue.ts";

export function rotationQueues(options: ProfileJobsOptions): ProfileJobs {
  return profileJobs({ queue: "rotations", job: "rotate-credentials", jobId: "the-rotations" }, options);
}
