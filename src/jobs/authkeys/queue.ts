/** The queue of the rotation of a profile's AuthKey: one at a time, for as long as the old one's grace lasts. */
import { ProfileJobs, type ProfileJobsOptions } from "#engine/profile-queue.ts";

export function authKeyQueues(options: ProfileJobsOptions): ProfileJobs {
  return new ProfileJobs({ queue: "authkeys", job: "rotate-authkey", jobId: "the-authkey" }, options);
}
