/** The platform's quota as the interface describes it (section 8), with what it leaves open as options. */
import type { QuotaReading } from "#limiter/permit.ts";

export type Rounding = "up" | "down" | "nearest";
export type Who = "normal" | "priority" | "other";

export interface PlatformOptions {
  readonly periodMs: number;
  /** When one of its windows starts. */
  readonly windowBeginsMs: number;
  readonly limit: number;
  readonly rounding: Rounding;
  /** `periodic`: windows follow each other at once; `anchored`: one starts with the first call after the former. */
  readonly windows: "periodic" | "anchored";
  /** How much longer its second is than Redis's, in parts of a million. */
  readonly driftPpm: number;
}

export interface Window {
  readonly beginMs: number;
  endMs: number;
  /** The highest limit that held in it. */
  limit: number;
  readonly counted: Record<Who, number>;
  /** When the first call of the bucket arrived. */
  firstCallMs: number | undefined;
  readonly refused: Record<Who, number>;
  /** Counted calls whose responses got lost on the way. */
  unheard: number;
}

export interface Answer {
  readonly isThrottled: boolean;
  readonly reading: QuotaReading;
  readonly window: Window;
}

export class ModelPlatform {
  readonly windows: Window[] = [];
  readonly #options: PlatformOptions;
  readonly #stretch: number;
  #limit: number;

  constructor(options: PlatformOptions) {
    this.#options = options;
    this.#limit = options.limit;
    this.#stretch = 1 + options.driftPpm / 1_000_000;
    if (options.windows === "periodic") this.#open(options.windowBeginsMs);
  }

  get periodMs(): number {
    return this.#options.periodMs * this.#stretch;
  }

  receive(nowMs: number, who: Who): Answer {
    const window = this.windowAt(nowMs);
    const spent = window.counted.normal + window.counted.priority + window.counted.other;
    const isThrottled = spent >= this.#limit;
    (isThrottled ? window.refused : window.counted)[who] += 1;
    if (who !== "other") window.firstCallMs ??= nowMs;
    const seconds = (window.endMs - nowMs) / this.#stretch / 1_000;
    const rounded = { up: Math.ceil, down: Math.floor, nearest: Math.round }[this.#options.rounding](seconds);
    const remaining = Math.max(0, this.#limit - spent - (isThrottled ? 0 : 1));
    return { isThrottled, window, reading: { limit: this.#limit, remaining, secondsBeforeRefresh: rounded } };
  }

  setLimit(nowMs: number, limit: number): void {
    const window = this.windowAt(nowMs);
    this.#limit = limit;
    window.limit = Math.max(window.limit, limit);
  }

  /** Counters empty, and windows of another phase from now on. */
  restart(nowMs: number): void {
    this.windowAt(nowMs).endMs = nowMs;
    this.#open(nowMs);
  }

  /** The window that `nowMs` lies in; opens it. */
  windowAt(nowMs: number): Window {
    let last = this.windows.at(-1);
    if (last === undefined) return this.#open(nowMs);
    if (nowMs < last.endMs) return last;
    if (this.#options.windows === "anchored") return this.#open(nowMs);
    while (nowMs >= last.endMs) last = this.#open(last.endMs);
    return last;
  }

  #open(beginMs: number): Window {
    const window: Window = {
      beginMs,
      endMs: beginMs + this.periodMs,
      limit: this.#limit,
      counted: { normal: 0, priority: 0, other: 0 },
      firstCallMs: undefined,
      refused: { normal: 0, priority: 0, other: 0 },
      unheard: 0,
    };
    this.windows.push(window);
    return window;
  }
}
