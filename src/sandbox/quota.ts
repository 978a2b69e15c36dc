/**
 * One quota of the platform: a counter in fixed windows. It has no timer: events since the last access (the calls of a
 * competitor, changes of the limit, the end of a window) are applied in chronological order on the next access, so that
 * a test with its own clock sees the same as a live server. Refused calls do not count as spent. All instants are
 * monotonic milliseconds of the sandbox's clock.
 */
export type Rounding = "up" | "down" | "nearest";

export interface QuotaRules {
  readonly periodMs: number;
  readonly rounding: Rounding;
  /**
   * `start`: windows follow each other from `originMs`; `first-call`: each opens at the first call after the previous
   * one.
   */
  readonly anchored: "start" | "first-call";
  readonly originMs: number;
}

/** The calls of one window by result. */
export interface QuotaWindow {
  readonly group: string;
  /** Address of the caller, if the quota is per address. */
  readonly caller: string | undefined;
  readonly startedAtMs: number;
  /** The limit at the end of the window, or now. */
  limit: number;
  /** Accepted calls of the sandbox's clients. */
  accepted: number;
  /** Calls that the competitor spent. */
  competitor: number;
  /** Calls of clients that received a 429. */
  throttled: number;
}

/** The values of the three rate-limit headers. */
export interface Reading {
  readonly limit: number;
  readonly remaining: number;
  readonly secondsBeforeRefresh: number;
}

const keptWindows = 10_000;

export class Quota {
  readonly windows: QuotaWindow[] = [];
  readonly #rules: QuotaRules;
  readonly #owner: { group: string; caller: string | undefined };
  #limit: number;
  #changes: { atMs: number; limit: number }[] = [];
  #competitor: { intervalMs: number; nextAtMs: number } | undefined;
  #window: QuotaWindow | undefined;

  constructor(owner: { group: string; caller: string | undefined }, rules: QuotaRules, limit: number) {
    this.#owner = owner;
    this.#rules = rules;
    this.#limit = limit;
  }

  isSpent(nowMs: number): boolean {
    this.advance(nowMs);
    return this.#left(nowMs) <= 0;
  }

  /** Spends one call. */
  accept(nowMs: number): Reading {
    this.advance(nowMs);
    const window = this.#open(nowMs);
    window.accepted += 1;
    return this.#read(window, nowMs);
  }

  /** Records a call that is refused because the quota is exhausted. */
  refuse(nowMs: number): Reading {
    this.advance(nowMs);
    const window = this.#open(nowMs);
    window.throttled += 1;
    return this.#read(window, nowMs);
  }

  changeLimit(atMs: number, limit: number): void {
    this.#changes = [...this.#changes, { atMs, limit }].sort((a, b) => a.atMs - b.atMs);
  }

  /** From `nowMs` on, another caller spends `callsPerSecond`; 0 ends it. */
  compete(nowMs: number, callsPerSecond: number): void {
    this.advance(nowMs);
    const intervalMs = 1_000 / callsPerSecond;
    this.#competitor = callsPerSecond > 0 ? { intervalMs, nextAtMs: nowMs + intervalMs } : undefined;
  }

  /** Applies everything that was due until now. */
  advance(nowMs: number): void {
    for (;;) {
      const changeAtMs = this.#changes[0]?.atMs ?? Infinity;
      const competitorAtMs = this.#competitor?.nextAtMs ?? Infinity;
      if (Math.min(changeAtMs, competitorAtMs) > nowMs) return;
      if (changeAtMs <= competitorAtMs) this.#applyChange();
      else this.#spendOfCompetitor();
    }
  }

  #applyChange(): void {
    const change = this.#changes.shift();
    if (change === undefined) return;
    this.#limit = change.limit;
    const window = this.#current(change.atMs);
    if (window) window.limit = change.limit;
  }

  #spendOfCompetitor(): void {
    const competitor = this.#competitor;
    if (competitor === undefined) return;
    const atMs = competitor.nextAtMs;
    competitor.nextAtMs += competitor.intervalMs;
    if (this.#left(atMs) > 0) this.#open(atMs).competitor += 1;
  }

  #left(atMs: number): number {
    const window = this.#current(atMs);
    return this.#limit - (window ? window.accepted + window.competitor : 0);
  }

  /** The window that contains `atMs`, if a call has opened it. */
  #current(atMs: number): QuotaWindow | undefined {
    const window = this.#window;
    return window && atMs < window.startedAtMs + this.#rules.periodMs ? window : undefined;
  }

  #open(atMs: number): QuotaWindow {
    const current = this.#current(atMs);
    if (current) return current;
    const { anchored, originMs, periodMs } = this.#rules;
    const startedAtMs =
      anchored === "first-call" ? atMs : originMs + Math.floor((atMs - originMs) / periodMs) * periodMs;
    const window = {
      ...this.#owner,
      startedAtMs,
      limit: this.#limit,
      accepted: 0,
      competitor: 0,
      throttled: 0,
    };
    this.#window = window;
    this.windows.push(window);
    if (this.windows.length > keptWindows) this.windows.shift();
    return window;
  }

  #read(window: QuotaWindow, nowMs: number): Reading {
    const seconds = (window.startedAtMs + this.#rules.periodMs - nowMs) / 1_000;
    const round = { up: Math.ceil, down: Math.floor, nearest: Math.round }[this.#rules.rounding];
    return {
      limit: this.#limit,
      remaining: Math.max(0, this.#limit - window.accepted - window.competitor),
      secondsBeforeRefresh: round(seconds),
    };
  }
}
