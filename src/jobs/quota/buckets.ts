/** What answers the route of quotas: the state of each bucket, and its calls in recent windows. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import { minuteMs } from "#core/time.ts";
import type { BucketState, Limiter } from "#limiter/limiter.ts";
import { type BucketReport, type BucketWindow, listBuckets } from "./contract.ts";

const windowsKept = 60;

/**
 * Samples how many calls each quota's recent windows had, as this worker sees the counters grow. The history starts
 * with the worker and is for display only; the limiter does not use it.
 */
export class BucketWindows {
  readonly #seen = new Map<string, { calls: number; throttled: number; readonly windows: BucketWindow[] }>();

  /** Takes a sample. */
  take(buckets: readonly Pick<BucketReport, "bucket" | "calls" | "throttled">[], atMs: number): void {
    for (const { bucket, calls, throttled } of buckets) {
      const seen = this.#seen.get(bucket);
      if (seen === undefined) {
        this.#seen.set(bucket, { calls, throttled, windows: [] });
        continue;
      }
      // Counters that decreased belong to a bucket that was removed and created again.
      const window = { calls: Math.max(0, calls - seen.calls), throttled: Math.max(0, throttled - seen.throttled) };
      seen.windows.push({ at: new Date(atMs).toISOString(), ...window });
      seen.windows.splice(0, seen.windows.length - windowsKept);
      Object.assign(seen, { calls, throttled });
    }
  }

  /** Oldest first. */
  of(bucket: string): readonly BucketWindow[] {
    return this.#seen.get(bucket)?.windows ?? [];
  }
}

/** @param periodMs the period of all quotas */
export function quotaEndpoints(limiter: Limiter, windows: BucketWindows, periodMs: number): readonly Endpoint[] {
  return [
    endpoint(listBuckets, async () => ({
      buckets: (await limiter.buckets()).map((state) => ({
        ...reportOfBucket(state),
        profiles: [...state.profiles],
        othersPerMinute: Math.round((state.needed * minuteMs) / periodMs),
        periodSeconds: periodMs / 1_000,
        windows: windows.of(state.bucket),
      })),
      nextCursor: null,
    })),
  ];
}

/** `<operator>@<host>.<group>`, `<profile>.<group>`, or `ip.<egress>.<group>-<operation>`. */
function partsOf(bucket: string): Pick<BucketReport, "group" | "operator" | "address"> {
  const [, address, group] = /^ip\.(.+)\.([\w-]+)-\w+$/.exec(bucket) ?? [];
  if (address !== undefined && group !== undefined) return { group, operator: null, address };
  const [, operator = null, last = bucket] = /^(?:([^@]+)@)?.*\.(.+)$/.exec(bucket) ?? [];
  return { group: last, operator, address: null };
}

function reportOfBucket(
  state: BucketState,
): Omit<BucketReport, "profiles" | "othersPerMinute" | "periodSeconds" | "windows"> {
  const { bucket, limit, left, inFlight, reserved, calls, throttled, waiters, today, nowMs } = state;
  const { refreshEarliestMs: earliestMs, refreshLatestMs: latestMs } = state;
  return {
    bucket,
    ...partsOf(bucket),
    limit: limit ?? null,
    left: left ?? null,
    inFlight,
    reserve: reserved ?? null,
    kept: state.kept === undefined ? null : Math.max(state.kept, reserved ?? 0),
    secondsToRefresh: latestMs === undefined ? null : Math.max(0, Math.round(latestMs - nowMs)) / 1_000,
    refreshDoubtSeconds:
      latestMs === undefined || earliestMs === undefined ? null : Math.round(latestMs - earliestMs) / 1_000,
    frozen: state.frozenUntilMs !== undefined,
    calls,
    throttled,
    waiters,
    today,
  };
}
