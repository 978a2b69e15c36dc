/**
 * All quotas of the sandbox: one per API group and, for the group Auth, one per caller address (interface, section 8).
 * It decides whether a call may pass and provides the rate-limit headers; the exchange formats a refusal. Tests and the
 * control paths change limits and competitors here at run time.
 */
import { type ApiGroup, apiGroups, type LimitChange, type SandboxOptions } from "./options.ts";
import { Quota, type QuotaRules, type QuotaWindow, type Reading } from "./quota.ts";

export { type ApiGroup, apiGroups, type LimitChange } from "./options.ts";

interface Group {
  limit: number;
  competitor: number;
  changes: { atMs: number; limit: number }[];
  quotas: Map<string, Quota>;
}

export class Throttle {
  readonly #options: SandboxOptions;
  #groups: Record<ApiGroup, Group>;
  #rules: QuotaRules;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#rules = this.#rulesFromNow();
    this.#groups = this.#groupsFromNow();
    this.#openQuotas();
  }

  isSpent(group: ApiGroup, callerIp: string): boolean {
    return this.#quota(group, callerIp).isSpent(this.#nowMs());
  }

  /** Spends one call of the group. */
  accept(group: ApiGroup, callerIp: string): Reading {
    return this.#quota(group, callerIp).accept(this.#nowMs());
  }

  /** Records a call that is refused because the quota is exhausted. */
  refuse(group: ApiGroup, callerIp: string): Reading {
    return this.#quota(group, callerIp).refuse(this.#nowMs());
  }

  changeLimit({ group, limit, afterMs }: LimitChange): void {
    const atMs = this.#nowMs() + afterMs;
    this.#groups[group].changes.push({ atMs, limit });
    for (const quota of this.#groups[group].quotas.values()) quota.changeLimit(atMs, limit);
  }

  /** Another caller spends `callsPerSecond` of the group's quota from now on; 0 ends it. */
  compete(group: ApiGroup, callsPerSecond: number): void {
    this.#groups[group].competitor = callsPerSecond;
    for (const quota of this.#groups[group].quotas.values()) quota.compete(this.#nowMs(), callsPerSecond);
  }

  /** The last 10,000 windows of the group with any activity, oldest first. */
  windows(group: ApiGroup): readonly QuotaWindow[] {
    return [...this.#groups[group].quotas.values()].flatMap((quota) => {
      quota.advance(this.#nowMs());
      return quota.windows;
    });
  }

  /** Restores the initial state: limits and competitors of the options, and windows that begin now. */
  reset(): void {
    this.#rules = this.#rulesFromNow();
    this.#groups = this.#groupsFromNow();
    this.#openQuotas();
  }

  /** The quotas of the account exist before the first call, so that their competitors spend from the start. */
  #openQuotas(): void {
    for (const group of apiGroups) if (group !== "Auth") this.#quota(group, "");
  }

  #quota(group: ApiGroup, callerIp: string): Quota {
    const { limit, competitor, changes, quotas } = this.#groups[group];
    const caller = group === "Auth" ? callerIp : undefined;
    const known = quotas.get(caller ?? "");
    if (known) return known;
    const quota = new Quota({ group, caller }, this.#rules, limit);
    for (const change of changes) quota.changeLimit(change.atMs, change.limit);
    quota.compete(this.#nowMs(), competitor);
    quotas.set(caller ?? "", quota);
    return quota;
  }

  #rulesFromNow(): QuotaRules {
    const { periodSeconds, rounding, anchored, windowOffsetMs } = this.#options;
    return {
      periodMs: periodSeconds * 1_000,
      rounding,
      anchored,
      originMs: this.#nowMs() - windowOffsetMs,
    };
  }

  #groupsFromNow(): Record<ApiGroup, Group> {
    const nowMs = this.#nowMs();
    const open = (group: ApiGroup): Group => ({
      limit: this.#options.limits[group] ?? 0,
      competitor: this.#options.competitor[group] ?? 0,
      changes: this.#options.limitChanges
        .filter((change) => change.group === group)
        .map(({ afterMs, limit }) => ({ atMs: nowMs + afterMs, limit })),
      quotas: new Map(),
    });
    return {
      Sim: open("Sim"),
      Subscriber: open("Subscriber"),
      Credential: open("Credential"),
      Operator: open("Operator"),
      Group: open("Group"),
      Auth: open("Auth"),
    };
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}
