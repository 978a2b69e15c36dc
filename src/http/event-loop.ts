/**
 * Whether the event loop is too late to accept more requests. One timer per second measures it, as exactly as a limit of
 * seconds needs. Packages for this wake the process a hundred times per second, which takes half of what an idle worker
 * takes.
 */
import { every, secondMs, type Clock } from "#core/time.ts";

const measureEveryMs = secondMs;

export interface EventLoopDelay {
  /** By how much the last timer was late. */
  readonly lastMs: number;
  stop(): void;
}

export function watchEventLoop(clock: Clock): EventLoopDelay {
  let measuredMs = clock.monotonicMs();
  let lastMs = 0;
  const stop = every(measureEveryMs, () => {
    const nowMs = clock.monotonicMs();
    lastMs = Math.max(0, nowMs - measuredMs - measureEveryMs);
    measuredMs = nowMs;
  });
  return {
    get lastMs() {
      return lastMs;
    },
    stop,
  };
}
