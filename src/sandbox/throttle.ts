/**
 * All quotas of the sandbox: one per API group and, for the group Auth, one per caller address (interface, section 8).
 * It decides whether a call may pass and provides the rate-limit headers; the exchange formats a refusal. Tests and the
 * control paths change limits and competitors here at run time.
 */
import { type ApiGroup, apiGroups, type LimitChange, type SandboxOptions } from "./options.ts";
import { Quota, type QuotaWindow, type Reading } from "./quota.ts";

export { type ApiGroup, apiGroups, type LimitChange } from "./options.ts";

export class Throttle {
  readonly #options: SandboxOptions;
  /** By group and, if there is one, caller. */
  readonly #quotas = new Map<string, Quota>();
  #originMs = 0;
  /** What holds for the quota of a caller who comes later, too. */
  #changes: { readonly group: ApiGroup; readonly limit: number; readonly atMs: number }[] = [];
  #competitor: SandboxOptions["competitor"] = {};

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.reset();
  }

  isSpent(group: ApiGroup, callerIp: string): boolean {
    return this.#quota(group, callerIp).isSpent(this.#nowMs());
  }

  /** Spends one call of the group. */
  accept(group: ApiGroup, callerIp: string): Reading {
    return this.#quota(group, callerIp).count("accepted", this.#nowMs());
  }

  /** Records a call that is refused because the quota is exhausted. */
  refuse(group: ApiGroup, callerIp: string): Reading {
    return this.#quota(group, callerIp).count("throttled", this.#nowMs());
  }

  changeLimit({ group, limit, afterMs }: LimitChange): void {
    const atMs = this.#nowMs() + afterMs;
    this.#changes.push({ group, limit, atMs });
    for (const quota of this.#quotasOf(group)) quota.changeLimit(atMs, limit);
  }

  /** Another caller spends `callsPerSecond` of the group's quota from now on; 0 ends it. */
  compete(group: ApiGroup, callsPerSecond: number): void {
    this.#competitor = { ...this.#competitor, [group]: callsPerSecond };
    for (const quota of this.#quotasOf(group)) quota.compete(this.#nowMs(), callsPerSecond);
  }

  /** The last 10,000 windows of the group with any activity, oldest first. */
  windows(group: ApiGroup): readonly QuotaWindow[] {
    return this.#quotasOf(group).flatMap((quota) => {
      quota.advance(this.#nowMs());
      return quota.windows;
    });
  }

  /** Restores the initial state: limits and competitors of the options, and windows that begin now. */
  reset(): void {
    const { limitChanges, competitor, windowOffsetMs } = this.#options;
    this.#originMs = this.#nowMs() - windowOffsetMs;
    this.#competitor = competitor;
    this.#changes = [];
    this.#quotas.clear();
    for (const change of limitChanges) this.changeLimit(change);
    // The quotas of the account exist before the first call, so that their competitors spend from the start.
    for (const group of apiGroups) if (group !== "Auth") this.#quota(group, "");
  }

  #quota(group: ApiGroup, callerIp: string): Quota {
    const caller = group === "Auth" ? callerIp : undefined;
    const key = `${group} ${caller}`;
    const known = this.#quotas.get(key);
    if (known) return known;
    const rules = { ...this.#options, originMs: this.#originMs };
    const quota = new Quota({ group, caller }, rules, this.#options.limits[group] ?? 0);
    for (const change of this.#changes) if (change.group === group) quota.changeLimit(change.atMs, change.limit);
    quota.compete(this.#nowMs(), this.#competitor[group] ?? 0);
    this.#quotas.set(key, quota);
    return quota;
  }

  #quotasOf(group: ApiGroup): Quota[] {
    return [...this.#quotas.values()].filter(({ owner }) => owner.group === group);
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}
