/** The JSON form of a quota, shared by `quota --json` and the control API. */
import type { BucketState } from "#limiter/limiter.ts";
import type { BucketReport, BucketWindow } from "./contract.ts";

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
