/** What answers the route of quotas. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import type { BucketState } from "#limiter/limiter.ts";
import { listBuckets } from "./contract.ts";
import { type SeenCalls, reportOfBucket } from "./report.ts";

export interface QuotaDeps {
  readonly buckets: () => Promise<readonly BucketState[]>;
  readonly seenCalls: (bucket: string) => SeenCalls;
}

export function quotaEndpoints({ buckets, seenCalls }: QuotaDeps): readonly Endpoint[] {
  return [
    endpoint(listBuckets, async () => ({
      buckets: (await buckets()).map((state) => reportOfBucket(state, seenCalls(state.bucket))),
      nextCursor: null,
    })),
  ];
}
