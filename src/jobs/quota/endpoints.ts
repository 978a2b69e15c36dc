/** What answers the route of quotas. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import { minuteMs } from "#core/time.ts";
import type { Limiter, BucketState } from "#limiter/limiter.ts";
import { type BucketReport, type BucketWindow, listBuckets } from "./contract.ts";
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

// The JSON form of a quota, shared by `quota --json` and the control API.

/** Calls of a bucket as this process has seen them; none in a process that takes no samples. */
export interface SeenCalls {
  readonly windows: readonly BucketWindow[];
  /** The period of all quotas. */
  readonly periodMs: number;
}

export function reportOfBucket(bucket: BucketState, { windows, periodMs }: SeenCalls): BucketReport {
  return {
    bucket: bucket.bucket,
    limit: bucket.limit ?? null,
    left: bucket.left ?? null,
    inFlight: bucket.inFlight,
    reserve: bucket.reserved ?? null,
    kept: bucket.kept === undefined ? null : Math.max(bucket.kept, bucket.reserved ?? 0),
    othersPerMinute: Math.round((bucket.needed * minuteMs) / periodMs),
    periodSeconds: periodMs / 1_000,
    secondsToRefresh: secondsToRefresh(bucket) ?? null,
    refreshDoubtSeconds: doubtSeconds(bucket) ?? null,
    frozen: bucket.frozenUntilMs !== undefined,
    calls: bucket.calls,
    throttled: bucket.throttled,
    waiters: bucket.waiters,
    today: bucket.today,
    windows,
  };
}

function secondsToRefresh(bucket: BucketState): number | undefined {
  if (bucket.refreshLatestMs === undefined) return undefined;
  return Math.max(0, Math.round(bucket.refreshLatestMs - bucket.nowMs)) / 1_000;
}

function doubtSeconds(bucket: BucketState): number | undefined {
  if (bucket.refreshLatestMs === undefined || bucket.refreshEarliestMs === undefined) return undefined;
  return Math.round(bucket.refreshLatestMs - bucket.refreshEarliestMs) / 1_000;
}
