/**
 * Whether the event loop is too late to accept more requests. One timer per second measures it, as exactly as a limit of
 * seconds needs. Packages for this wake the process a hundred times per second, which takes half of what an idle worker
 * takes.
 */
import { every, secondMs, type Clock } from "#core/time.ts";

const measureEveryMs = secondMs;

export interface EventLoopDelay {
  /** By how much both of the last two timers were late: a single pause, as of the whole machine, is no overload. */
  readonly lateMs: number;
  stop(): void;
}

export function watchEventLoop(clock: Clock): EventLoopDelay {
  let measuredMs = clock.monotonicMs();
  let [lastMs, lateMs] = [0, 0];
  const stop = every(measureEveryMs, () => {
    const nowMs = clock.monotonicMs();
    const delayMs = Math.max(0, nowMs - measuredMs - measureEveryMs);
    [lastMs, lateMs] = [delayMs, Math.min(delayMs, lastMs)];
    measuredMs = nowMs;
  });
  return {
    get lateMs() {
      return lateMs;
    },
    stop,
  };
}
