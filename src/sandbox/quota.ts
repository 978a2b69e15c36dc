/**
 * The quotas of the sandbox (interface, section 8): one per API group and, for the group Auth, one per caller address.
 * Each is a counter in fixed windows. It has no timer: what happened since the last access (calls of a competitor,
 * changes of the limit, the end of a window) is applied in order of time on the next, so that a test with its own clock
 * sees the same as a live server. Refused calls do not count as spent. All instants are monotonic milliseconds.
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
type Limit = Readonly<{ fromMs: number; limit: number }>;

const maxWindows = 10_000;

/** One quota. @param of `limits` in the order of time, the first from the start on; `originMs`, where windows start */
function openQuota(
  owner: Pick<QuotaWindow, "group" | "caller">,
  { anchored, periodSeconds, rounding }: SandboxOptions,
  of: { readonly originMs: number; readonly limits: readonly Limit[] },
) {
  const windows: QuotaWindow[] = [];
  const periodMs = periodSeconds * 1_000;
  const round = { up: Math.ceil, down: Math.floor, nearest: Math.round }[rounding];
  /** The interval is infinite without a competitor. */
  let competitor = { intervalMs: Infinity, nextAtMs: Infinity };

  /** The window that contains `atMs`, if a call has opened it. */
  const currentAt = (atMs: number): QuotaWindow | undefined => {
    const window = windows.at(-1);
    return window && atMs < window.startedAtMs + periodMs ? window : undefined;
  };

  const leftAt = (atMs: number): number => {
    const window = currentAt(atMs);
    return limitAt(of.limits, atMs) - (window ? window.accepted + window.competitor : 0);
  };

  const openAt = (atMs: number): QuotaWindow => {
    const current = currentAt(atMs);
    if (current) return current;
    const startedAtMs =
      anchored === "first-call" ? atMs : of.originMs + Math.floor((atMs - of.originMs) / periodMs) * periodMs;
    const window = { ...owner, startedAtMs, limit: limitAt(of.limits, atMs), accepted: 0, competitor: 0, throttled: 0 };
    windows.push(window);
    if (windows.length > maxWindows) windows.shift();
    return window;
  };

  /** Makes the calls of the competitor that were due until now. */
  const advance = (nowMs: number): void => {
    const { intervalMs } = competitor;
    for (let atMs = competitor.nextAtMs; atMs <= nowMs; atMs += intervalMs) {
      if (leftAt(atMs) > 0) openAt(atMs).competitor += 1;
      competitor.nextAtMs = atMs + intervalMs;
    }
  };

  return {
    owner,
    windows,
    advance,

    isSpent(nowMs: number): boolean {
      advance(nowMs);
      return leftAt(nowMs) <= 0;
    },

    /** Records a call: an accepted one spends the quota. @returns the values of the three rate-limit headers */
    count(fate: "accepted" | "throttled", nowMs: number) {
      advance(nowMs);
      const window = openAt(nowMs);
      window[fate] += 1;
      window.limit = limitAt(of.limits, nowMs);
      return {
        limit: window.limit,
        remaining: Math.max(0, leftAt(nowMs)),
        secondsBeforeRefresh: round((window.startedAtMs + periodMs - nowMs) / 1_000),
      };
    },

    /** From `nowMs` on, another caller spends `callsPerSecond`; 0 ends it. */
    compete(nowMs: number, callsPerSecond: number): void {
      advance(nowMs);
      const intervalMs = 1_000 / callsPerSecond;
      competitor = { intervalMs, nextAtMs: nowMs + intervalMs };
    },
  };
}

function limitAt(limits: readonly Limit[], atMs: number): number {
  return limits.findLast((one) => one.fromMs <= atMs)?.limit ?? 0;
}

/** All quotas. Tests and the control paths change limits and competitors here at run time. */
export function openThrottle(options: SandboxOptions) {
  const nowMs = (): number => options.clock.monotonicMs();
  /** By group and, if there is one, caller. */
  const quotas = new Map<string, ReturnType<typeof openQuota>>();
  let originMs = 0;
  /** By group, in the order of time. */
  const limits = new Map<ApiGroup, Limit[]>();
  let { competitor } = options;

  const getQuota = (group: ApiGroup, callerIp: string) => {
    const caller = group === "Auth" ? callerIp : undefined;
    const key = `${group} ${caller}`;
    const known = quotas.get(key);
    if (known) return known;
    const quota = openQuota({ group, caller }, options, { originMs, limits: limits.get(group) ?? [] });
    quota.compete(nowMs(), competitor[group] ?? 0);
    quotas.set(key, quota);
    return quota;
  };
  const listQuotas = (group: ApiGroup) => [...quotas.values()].filter(({ owner }) => owner.group === group);

  const throttle = {
    isSpent: (group: ApiGroup, callerIp: string): boolean => getQuota(group, callerIp).isSpent(nowMs()),

    /** Spends one call of the group. */
    accept: (group: ApiGroup, callerIp: string) => getQuota(group, callerIp).count("accepted", nowMs()),

    /** Records a call that is rejected because the quota is exhausted. */
    refuse: (group: ApiGroup, callerIp: string) => getQuota(group, callerIp).count("throttled", nowMs()),

    changeLimit({ group, limit, afterMs }: LimitChange): void {
      const ofGroup = limits.get(group);
      ofGroup?.push({ fromMs: nowMs() + afterMs, limit });
      ofGroup?.sort((one, other) => one.fromMs - other.fromMs);
    },

    /** Another caller spends `callsPerSecond` of the group's quota from now on; 0 ends it. */
    compete(group: ApiGroup, callsPerSecond: number): void {
      competitor = { ...competitor, [group]: callsPerSecond };
      for (const quota of listQuotas(group)) quota.compete(nowMs(), callsPerSecond);
    },

    /** The last 10,000 windows of the group with any activity, oldest first. */
    windows: (group: ApiGroup): readonly QuotaWindow[] =>
      listQuotas(group).flatMap(({ advance, windows }) => {
        advance(nowMs());
        return windows;
      }),

    /** Restores the initial state: limits and competitors of the options, and windows that start now. */
    reset(): void {
      originMs = nowMs() - options.windowOffsetMs;
      competitor = options.competitor;
      quotas.clear();
      for (const group of apiGroups) limits.set(group, [{ fromMs: -Infinity, limit: options.limits[group] ?? 0 }]);
      for (const change of options.limitChanges) throttle.changeLimit(change);
      // The quotas of the account exist before the first call, so that their competitors spend from the start.
      for (const group of apiGroups) if (group !== "Auth") getQuota(group, "");
    },
  };
  throttle.reset();
  return throttle;
}
