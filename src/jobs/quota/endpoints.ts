/** What answers the route of quotas. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import type { Limiter } from "#limiter/limiter.ts";
import { listBuckets } from "./contract.ts";
import { reportOfBucket } from "./report.ts";
import type { BucketWindows } from "./windows.ts";

export interface QuotaDeps {
  readonly limiter: Limiter;
  /** Calls as this process has seen them; none in a process that takes no samples. */
  readonly windows: BucketWindows;
  /** The period of all quotas. */
  readonly periodMs: number;
}

export function quotaEndpoints({ limiter, windows, periodMs }: QuotaDeps): readonly Endpoint[] {
  return [
    endpoint(listBuckets, async () => ({
      buckets: (await limiter.buckets()).map((state) =>
        reportOfBucket(state, { windows: windows.of(state.bucket), periodMs }),
      ),
      nextCursor: null,
    })),
  ];
}
