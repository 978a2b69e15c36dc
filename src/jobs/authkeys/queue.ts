/** The queue for rotations of a profile's AuthKey: one at a time, including the grace period of the old AuthKey. */
import { type ProfileJobs, type ProfileJobsOptions, profileJobs } from "#engine/queue/profile-queue.ts";

export function authKeyQueues(options: ProfileJobsOptions): ProfileJobs {
  return profileJobs({ queue: "authkeys", job: "rotate-authkey", jobId: "the-authkey" }, options);
}
