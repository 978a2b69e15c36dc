/** What answers the route of quotas. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import type { BucketState } from "#limiter/limiter.ts";
import { type BucketWindow, listBuckets } from "./contract.ts";
import { reportOfBucket } from "./report.ts";

export interface QuotaDeps {
  readonly buckets: () => Promise<readonly BucketState[]>;
  /** Recent periods of a bucket; none in a process that takes no samples. */
  readonly windowsOf: (bucket: string) => readonly BucketWindow[];
}

export function quotaEndpoints({ buckets, windowsOf }: QuotaDeps): readonly Endpoint[] {
  return [
    endpoint(listBuckets, async () => ({
      buckets: (await buckets()).map((state) => reportOfBucket(state, windowsOf(state.bucket))),
      nextCursor: null,
    })),
  ];
}
