/**
 * The quotas of the sandbox (interface, section 8): one per API group and, for the group Auth, one per caller address. Each
 * is a counter in fixed windows. It has no timer: what happened since the last access (the calls of a competitor, changes of
 * the limit, the end of a window) is applied in chronological order on the next access, so that a test with its own clock sees
 * the same as a live server. Refused calls do not count as spent. All instants are monotonic milliseconds.
 */
import { type ApiGroup, apiGroups, type LimitChange, type SandboxOptions } from "./options.ts";

/** The calls of one window by result. */
export interface QuotaWindow {
  readonly group: string;
  /** Address of the caller, if the quota is per address. */
  readonly caller: string | undefined;
  readonly startedAtMs: number;
  /** The limit at the last call. */
  limit: number;
  /** Accepted calls of the sandbox's clients. */
  accepted: number;
  /** Calls that the competitor spent. */
  competitor: number;
  /** Calls of clients that received a 429. */
  throttled: number;
}

/** The limit of a group from an instant on. */
interface Limit {
  readonly fromMs: number;
  readonly limit: number;
}

const maxWindows = 10_000;

class Quota {
  readonly windows: QuotaWindow[] = [];
  readonly owner: Pick<QuotaWindow, "group" | "caller">;
  readonly #options: SandboxOptions;
  /** With `anchored: start`, where the windows start. */
  readonly #originMs: number;
  /** In the order of time, the first from the start on. */
  readonly #limits: readonly Limit[];
  /** The interval is infinite without a competitor. */
  #competitor = { intervalMs: Infinity, nextAtMs: Infinity };

  constructor(owner: Quota["owner"], options: SandboxOptions, originMs: number, limits: readonly Limit[]) {
    this.owner = owner;
    this.#options = options;
    this.#originMs = originMs;
    this.#limits = limits;
  }

  isSpent(nowMs: number): boolean {
    this.advance(nowMs);
    return this.#left(nowMs) <= 0;
  }

  /** Records a call: an accepted one spends the quota. @returns the values of the three rate-limit headers */
  count(fate: "accepted" | "throttled", nowMs: number) {
    this.advance(nowMs);
    const window = this.#open(nowMs);
    window[fate] += 1;
    window.limit = this.#limitAt(nowMs);
    const { periodSeconds, rounding } = this.#options;
    const round = { up: Math.ceil, down: Math.floor, nearest: Math.round }[rounding];
    return {
      limit: window.limit,
      remaining: Math.max(0, this.#left(nowMs)),
      secondsBeforeRefresh: round((window.startedAtMs + periodSeconds * 1_000 - nowMs) / 1_000),
    };
  }

  /** From `nowMs` on, another caller spends `callsPerSecond`; 0 ends it. */
  compete(nowMs: number, callsPerSecond: number): void {
    this.advance(nowMs);
    const intervalMs = 1_000 / callsPerSecond;
    this.#competitor = { intervalMs, nextAtMs: nowMs + intervalMs };
  }

  /** Makes the calls of the competitor that were due until now. */
  advance(nowMs: number): void {
    const { intervalMs } = this.#competitor;
    for (let atMs = this.#competitor.nextAtMs; atMs <= nowMs; atMs += intervalMs) {
      if (this.#left(atMs) > 0) this.#open(atMs).competitor += 1;
      this.#competitor.nextAtMs = atMs + intervalMs;
    }
  }

  #limitAt(atMs: number): number {
    return this.#limits.findLast((one) => one.fromMs <= atMs)?.limit ?? 0;
  }

  #left(atMs: number): number {
    const window = this.#current(atMs);
    return this.#limitAt(atMs) - (window ? window.accepted + window.competitor : 0);
  }

  /** The window that contains `atMs`, if a call has opened it. */
  #current(atMs: number): QuotaWindow | undefined {
    const window = this.windows.at(-1);
    return window && atMs < window.startedAtMs + this.#options.periodSeconds * 1_000 ? window : undefined;
  }

  #open(atMs: number): QuotaWindow {
    const current = this.#current(atMs);
    if (current) return current;
    const { anchored, periodSeconds } = this.#options;
    const originMs = this.#originMs;
    const periodMs = periodSeconds * 1_000;
    const startedAtMs =
      anchored === "first-call" ? atMs : originMs + Math.floor((atMs - originMs) / periodMs) * periodMs;
    const window = { ...this.owner, startedAtMs, limit: this.#limitAt(atMs), accepted: 0, competitor: 0, throttled: 0 };
    this.windows.push(window);
    if (this.windows.length > maxWindows) this.windows.shift();
    return window;
  }
}

/** All quotas. Tests and the control paths change limits and competitors here at run time. */
export class Throttle {
  readonly #options: SandboxOptions;
  /** By group and, if there is one, caller. */
  readonly #quotas = new Map<string, Quota>();
  #originMs = 0;
  /** By group, in the order of time. */
  readonly #limits = new Map<ApiGroup, Limit[]>();
  #competitor: SandboxOptions["competitor"] = {};

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.reset();
  }

  isSpent(group: ApiGroup, callerIp: string): boolean {
    return this.#quota(group, callerIp).isSpent(this.#nowMs());
  }

  /** Spends one call of the group. */
  accept(group: ApiGroup, callerIp: string) {
    return this.#quota(group, callerIp).count("accepted", this.#nowMs());
  }

  /** Records a call that is rejected because the quota is exhausted. */
  refuse(group: ApiGroup, callerIp: string) {
    return this.#quota(group, callerIp).count("throttled", this.#nowMs());
  }

  changeLimit({ group, limit, afterMs }: LimitChange): void {
    const limits = this.#limits.get(group);
    limits?.push({ fromMs: this.#nowMs() + afterMs, limit });
    limits?.sort((one, other) => one.fromMs - other.fromMs);
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

  /** Restores the initial state: limits and competitors of the options, and windows that start now. */
  reset(): void {
    const { limits, limitChanges, competitor, windowOffsetMs } = this.#options;
    this.#originMs = this.#nowMs() - windowOffsetMs;
    this.#competitor = competitor;
    this.#quotas.clear();
    for (const group of apiGroups) this.#limits.set(group, [{ fromMs: -Infinity, limit: limits[group] ?? 0 }]);
    for (const change of limitChanges) this.changeLimit(change);
    // The quotas of the account exist before the first call, so that their competitors spend from the start.
    for (const group of apiGroups) if (group !== "Auth") this.#quota(group, "");
  }

  #quota(group: ApiGroup, callerIp: string): Quota {
    const caller = group === "Auth" ? callerIp : undefined;
    const key = `${group} ${caller}`;
    const known = this.#quotas.get(key);
    if (known) return known;
    const quota = new Quota({ group, caller }, this.#options, this.#originMs, this.#limits.get(group) ?? []);
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
