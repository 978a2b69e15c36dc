/**
 * The text with which a higher quota is requested from the platform's support (interface, section 8, rule 5): the calls, the
 * rate per minute and the use case. The rate is what simfleet has measured; a person completes the text.
 */
import { catalogue } from "#api/operations/catalogue.ts";
import type { Config } from "#config/config.ts";
import type { BucketReport } from "#jobs/quota/contract.ts";

export interface LimitRequest {
  readonly group: string;
  /** Calls per minute that are allowed; null until the platform reports it. */
  readonly limit: number | null;
  /** Calls per minute that were made at most, with those that wait. */
  readonly callsPerMinute: number;
  /** Method and path of the calls in this group. */
  readonly calls: readonly string[];
}

/** One for each group of a profile's quotas; quotas that are counted by address are left out. */
export function limitRequests(
  buckets: readonly BucketReport[],
  { profile, deployment }: Pick<Config, "profile" | "deployment">,
): LimitRequest[] {
  const calls = callsByGroup(deployment);
  return buckets.flatMap(({ profiles, group, limit, windows, waiters, periodSeconds }) => {
    if (!profiles.includes(profile)) return [];
    const peak = Math.max(0, ...windows.map((window) => window.calls));
    const waiting = waiters.reduce((sum, waiter) => sum + waiter.waiting, 0);
    const callsPerMinute = Math.ceil(((peak + waiting) * 60) / periodSeconds);
    return [{ group, limit, callsPerMinute, calls: calls.get(group) ?? [] }];
  });
}

export function limitRequestText(requests: readonly LimitRequest[]): string {
  if (requests.length === 0) return "No quota is known yet: the platform reports it with its first response.";
  const groups = requests.map(({ group, limit, callsPerMinute, calls }) =>
    [
      `API group: ${group}${limit === null ? "" : ` (limit now: ${limit} requests per minute)`}`,
      "API calls:",
      ...calls.map((call) => `  ${call}`),
      `Estimated requests per minute: ${callsPerMinute} (the most so far, with those that waited)`,
    ].join("\n"),
  );
  return [
    "Please raise the rate limit of these API groups of our account.",
    ...groups,
    "Use case: we change and read our SIMs in bulk. (Say how many SIMs, how often, and by when.)",
  ].join("\n\n");
}

function callsByGroup({ operations, simOperations }: Config["deployment"]): ReadonlyMap<string, readonly string[]> {
  const all = [
    ...catalogue.flatMap(({ quota, method, path }) => ("group" in quota ? [{ group: quota.group, method, path }] : [])),
    ...Object.values(operations).filter((operation) => operation !== undefined),
    ...simOperations.values(),
  ];
  const calls = new Map<string, Set<string>>();
  for (const { group, method, path } of all) {
    const some = calls.get(group) ?? new Set();
    calls.set(group, some.add(`${method} ${path}`));
  }
  return new Map([...calls].map(([group, some]) => [group, [...some]]));
}
