/** Buckets of quotas. */
import type { BucketReport } from "./shapes.ts";

/** The bucket of a profile's runs: that of the API group of their operation. */
export function bucketOf<B extends Pick<BucketReport, "group" | "profiles">>(
  buckets: readonly B[],
  { profile, group = "Sim" }: { profile: string; group?: string | undefined },
): B | undefined {
  return buckets.find((bucket) => bucket.group === group && bucket.profiles.includes(profile));
}

/** Display name: `Sim of OP0012345678`, `Sim of default`, or `Auth from vm` for the calls of one address. */
export function bucketTitle({ bucket, group, operator, address }: BucketReport): string {
  if (address !== null) return `${group} from ${address}`;
  return `${group} of ${operator ?? bucket.slice(0, bucket.lastIndexOf("."))}`;
}

export function callsWaiting({ waiters }: Pick<BucketReport, "waiters">): number {
  return waiters.reduce((sum, { waiting }) => sum + waiting, 0);
}

/** By the calls of the last windows, with those that wait; then by the calls of the day. */
export function busiestFirst(buckets: readonly BucketReport[]): BucketReport[] {
  return buckets.toSorted((a, b) => recentCalls(b) - recentCalls(a) || b.today.calls - a.today.calls);
}

function recentCalls(bucket: BucketReport): number {
  return bucket.windows.slice(-5).reduce((sum, { calls }) => sum + calls, callsWaiting(bucket));
}
