/**
 * The two clocks and the only timers. `wallMs` is for instants that people or other machines read; `monotonicMs` is for
 * durations, since it never jumps. All internal times are in milliseconds. Tests inject their own Clock.
 */
import { setImmediate as immediate, setTimeout as timeout } from "node:timers/promises";

export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** The wall clocks of two machines may differ by this much; a larger difference means that one of them is wrong. */
export const clockToleranceMs = 15 * secondMs;

export interface Clock {
  /** Milliseconds since the Unix epoch, UTC. */
  wallMs(): number;
  /** Milliseconds since some fixed instant, with fractions; never decreases. */
  monotonicMs(): number;
  /** Resolves after `delayMs`; rejects with the signal's reason if it aborts. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (delayMs, signal) => {
    signal?.throwIfAborted();
    try {
      await timeout(delayMs, undefined, signal ? { signal } : {});
    } catch (thrown) {
      throw signal?.aborted ? signal.reason : thrown;
    }
  },
};

/** ISO 8601, UTC; null for no time. */
export function isoTime(atMs: number | undefined): string | null {
  return atMs === undefined ? null : new Date(atMs).toISOString();
}

/** `20261120-103045`, UTC: an ID with it sorts by time. */
export function stampOf(atMs: number): string {
  return new Date(atMs).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
}

/** Resolves after everything that is ready in this iteration of the event loop has been handled: for batching. */
export function yieldToEventLoop(): Promise<void> {
  return immediate();
}

/**
 * Waits for work no longer than a time; the work itself continues.
 * @returns undefined if it takes longer
 * @throws errors of the work by then
 */
export async function inTime<T>(clock: Clock, withinMs: number, work: Promise<T>): Promise<{ value: T } | undefined> {
  const done = new AbortController();
  const late = clock.sleep(withinMs, done.signal).catch(() => undefined);
  try {
    return (await Promise.race([work.then((value) => ({ value })), late])) ?? undefined;
  } finally {
    done.abort();
  }
}

/** Calls `tick` every `periodMs` until the returned function is called; never keeps the process alive. */
export function every(periodMs: number, tick: () => void): () => void {
  const timer = setInterval(tick, periodMs);
  timer.unref();
  return () => clearInterval(timer);
}
