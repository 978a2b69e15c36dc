/** Which quota is meant by a bucket's name. */
import type { BucketReport } from "./shapes.ts";

/** The bucket that the runs of a profile go through: that of its SIM operations. */
export function bucketOf(buckets: readonly BucketReport[], profile: string): BucketReport | undefined {
  return buckets.find(({ bucket }) => bucket === `${profile}.Sim`);
}
