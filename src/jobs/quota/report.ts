/** The JSON form of a quota, shared by `quota --json` and the control API. */
import type { BucketState } from "#limiter/limiter.ts";

export interface BucketReport {
  readonly bucket: string;
  /** Null until the first response reports it. */
  readonly limit: number | null;
  readonly left: number | null;
  readonly inFlight: number;
  /** Calls of each window that are reserved for other callers. */
  readonly reserve: number | null;
  readonly secondsToRefresh: number | null;
  /** Uncertainty of the refresh time. */
  readonly refreshDoubtSeconds: number | null;
  readonly frozen: boolean;
  readonly calls: number;
  readonly throttled: number;
  readonly waiters: readonly { readonly process: string; readonly waiting: number }[];
}

export function reportOfBucket(bucket: BucketState): BucketReport {
  return {
    bucket: bucket.bucket,
    limit: bucket.limit ?? null,
    left: bucket.left ?? null,
    inFlight: bucket.inFlight,
    reserve: bucket.reserved ?? null,
    secondsToRefresh: secondsToRefresh(bucket) ?? null,
    refreshDoubtSeconds: doubtSeconds(bucket) ?? null,
    frozen: bucket.frozenUntilMs !== undefined,
    calls: bucket.calls,
    throttled: bucket.throttled,
    waiters: bucket.waiters,
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
