/** Endpoint of quotas: the state of each bucket, and its calls in recent windows. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import { reportOf } from "#contract/fields.ts";
import { minuteMs } from "#core/time.ts";
import type { RunService } from "#jobs/runs/service.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { BucketState, BucketWindow } from "#limiter/limiter.ts";
import { type BucketReport, bucketReport, listBuckets } from "./contract.ts";

const windowsShown = 60;

export function quotaEndpoints({ limiter, config }: Kernel, runs: RunService): readonly Endpoint[] {
  const { periodMs } = config.limits;
  const readWindows = async ({ bucket, nowMs }: BucketState): Promise<BucketReport["windows"]> => {
    const kept = await limiter.windows(bucket, windowsShown);
    const recent = kept.filter(({ endedAtMs }) => nowMs - endedAtMs < windowsShown * periodMs);
    return withEmptyWindows(recent.toReversed(), periodMs).map(({ endedAtMs, limit, ...calls }) => ({
      at: new Date(endedAtMs).toISOString(),
      ...calls,
      limit: limit === 0 ? null : limit,
    }));
  };
  return [
    endpoint(listBuckets, async () => {
      const [states, works] = await Promise.all([limiter.buckets(), runs.work()]);
      const buckets = states.map(async (state) =>
        reportOf(bucketReport, {
          ...state,
          ...parseBucket(state.bucket),
          ...describeRefresh(state),
          reserve: state.reserved,
          kept: state.kept === undefined ? null : Math.max(state.kept, state.reserved ?? 0),
          othersPerMinute: Math.round((state.needed * minuteMs) / periodMs),
          periodSeconds: periodMs / 1_000,
          blocked: state.blockedUntilMs !== undefined,
          work: works.get(state.bucket),
          windows: await readWindows(state),
        }),
      );
      return { buckets: await Promise.all(buckets), nextCursor: null };
    }),
  ];
}

/** @param windows that had calls, oldest first */
function withEmptyWindows(windows: readonly BucketWindow[], periodMs: number): BucketWindow[] {
  const all: BucketWindow[] = [];
  for (const window of windows) {
    for (let last = all.at(-1); last !== undefined; last = all.at(-1)) {
      const endedAtMs = last.endedAtMs + periodMs;
      if (endedAtMs > window.endedAtMs - periodMs / 2) break;
      all.push({ endedAtMs, calls: 0, throttled: 0, limit: last.limit });
    }
    all.push(window);
  }
  return all;
}

/** `<operator>@<host>.<group>`, `<profile>.<group>`, or `ip.<egress>.<group>-<operation>`. */
function parseBucket(bucket: string): Pick<BucketReport, "group" | "operator" | "address"> {
  const [, address, group] = /^ip\.(.+)\.([\w-]+)-\w+$/.exec(bucket) ?? [];
  if (address !== undefined && group !== undefined) return { group, operator: null, address };
  const [, operator = null, last = bucket] = /^(?:([^@]+)@)?.*\.(.+)$/.exec(bucket) ?? [];
  return { group: last, operator, address: null };
}

function describeRefresh({ refreshEarliestMs: earliestMs, refreshLatestMs: latestMs, nowMs }: BucketState) {
  if (latestMs === undefined) return {};
  const refreshDoubtSeconds = earliestMs === undefined ? null : Math.round(latestMs - earliestMs) / 1_000;
  return { secondsToRefresh: Math.max(0, Math.round(latestMs - nowMs)) / 1_000, refreshDoubtSeconds };
}
