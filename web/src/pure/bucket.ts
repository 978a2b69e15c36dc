/** Bucket names of quotas. */
import type { BucketReport } from "./shapes.ts";

/** The bucket of a profile's runs: that of the API group of their operation. */
export function bucketOf(
  buckets: readonly BucketReport[],
  { profile, group = "Sim" }: { profile: string; group?: string | undefined },
): BucketReport | undefined {
  return buckets.find(({ bucket }) => bucket === `${profile}.${group}`);
}

/** What people call it: `default.Sim` as it is, `ip.vm.Auth-auth` as the calls of one address. */
export function bucketTitle(bucket: string): string {
  const [, address, group] = /^ip\.(.+)\.(\w+)-\w+$/.exec(bucket) ?? [];
  return address === undefined || group === undefined ? bucket : `${group} from ${address}`;
}
