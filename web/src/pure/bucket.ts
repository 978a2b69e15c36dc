/** Bucket names of quotas. */
import type { BucketReport } from "./shapes.ts";

/** The bucket of a profile's runs: that of its SIM operations. */
export function bucketOf(buckets: readonly BucketReport[], profile: string): BucketReport | undefined {
  return buckets.find(({ bucket }) => bucket === `${profile}.Sim`);
}
