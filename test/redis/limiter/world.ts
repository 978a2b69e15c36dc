/**
 * A world in which time passes only from event to event: seeded, so that a run can be repeated in every detail. Its
 * clock is Redis's; each process has a monotonic clock of its own next to it.
 */
import type { Clock } from "#core/time.ts";

/** Some instant with a whole number of seconds, far from any edge. */
export const beginMs = 1_790_000_000_000;

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void | Promise<void>;
  isOff: boolean;
}

export class World {
  nowMs = beginMs;
  /** What happened, line by line; kept only where somebody will read it. */
  readonly story: string[] | undefined;
  readonly #queue: Event[] = [];
  #order = 0;
  #state: number;

  constructor(seed: number, isReported: boolean) {
    this.#state = seed;
    this.story = isReported ? [] : undefined;
  }

  /** A number in [0, 1). */
  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.random();
  }

  emit(line: () => string): void {
    this.story?.push(`${((this.nowMs - beginMs) / 1_000).toFixed(4).padStart(10)}  ${line()}`);
  }

  after(delayMs: number, run: () => void | Promise<void>): () => void {
    const event: Event = { atMs: this.nowMs + Math.max(0, delayMs), order: (this.#order += 1), run, isOff: false };
    this.#push(event);
    return () => {
      event.isOff = true;
    };
  }

  /** A process's clock; its timers fire a little late, as timers do. */
  clock(offsetMs: number): Clock {
    return {
      wallMs: () => this.nowMs,
      monotonicMs: () => this.nowMs - beginMs + offsetMs,
      sleep: (delayMs, signal) =>
        new Promise<void>((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason);
          const off = this.after(delayMs + this.between(0, 1.5), resolve);
          signal?.addEventListener("abort", () => (off(), reject(signal.reason)), { once: true });
        }),
    };
  }

  async runUntil(endMs: number): Promise<void> {
    await settled(); // what was begun before, up to its first event
    for (;;) {
      const next = this.#queue[0];
      if (next === undefined || next.atMs > endMs) break;
      this.#pop();
      if (next.isOff) continue;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      await next.run();
      await settled();
    }
    this.nowMs = endMs;
  }

  #push(event: Event): void {
    const queue = this.#queue;
    let at = queue.push(event) - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      if (!isBefore(event, queue[up] as Event)) break;
      queue[at] = queue[up] as Event;
      at = up;
    }
    queue[at] = event;
  }

  #pop(): void {
    const queue = this.#queue;
    const last = queue.pop() as Event;
    if (queue.length === 0) return;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      if (down >= queue.length) break;
      if (down + 1 < queue.length && isBefore(queue[down + 1] as Event, queue[down] as Event)) down += 1;
      if (!isBefore(queue[down] as Event, last)) break;
      queue[at] = queue[down] as Event;
      at = down;
    }
    queue[at] = last;
  }
}

/** Lets all that follows from an event at the same instant happen: the gate puts off its exchange by a turn or two. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
