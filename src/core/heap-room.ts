/**
 * How much room V8 may take beyond what is in use. Left alone it takes more and more of it from a process that makes and
 * drops a lot, and does not give it back: 12 MB of an idle worker that has just loaded its modules, 100 MB and more of a
 * command that streams a file or a fleet. So the whole is cleared early, and the room for new objects does not grow; where
 * calls per second count it may, up to a bound. Without one it takes 128 MB of a worker with a thousand event streams
 * that works on a run, and keeps them.
 */
// oxlint-disable-next-line no-restricted-imports -- it tells of collections of garbage; no time is read from it
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** What the heap may grow by, in percent of what is in use, before it is cleared. */
const growthPercent = 60;
/** From this size on the room for new objects does not double any more. */
const enoughForNewBytes = 16 * 1_024 * 1_024;

let watch: PerformanceObserver | undefined;

/** From here on the room for new objects does not grow. What it has, it keeps. */
export function keepHeapSmall(): void {
  watch?.disconnect();
  watch = undefined;
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** From here on it grows with what is asked of it, up to its bound. */
export function letHeapGrow(): void {
  if (watch !== undefined) return;
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  watch = new PerformanceObserver(boundNew);
  watch.observe({ entryTypes: ["gc"] });
  boundNew();
}

/** It grows when the heap is cleared, and is looked at after that. */
function boundNew(): void {
  const bytes = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? 0;
  setFlagsFromString(`--semi-space-growth-factor=${bytes < enoughForNewBytes ? 2 : 1}`);
}
