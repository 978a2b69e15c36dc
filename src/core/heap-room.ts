/**
 * How much room V8 may take beyond what is in use. Left alone it takes more and more of it from a process that makes and
 * drops a lot, and does not give it back: 12 MB of an idle worker that has just loaded its modules, 100 MB and more of a
 * command that streams a file or a fleet, 128 MB for new objects alone of a worker that works on a run. So the whole is
 * cleared early, and the room for new objects grows up to a bound, which depends on the work.
 */
// oxlint-disable-next-line no-restricted-imports -- it tells of collections of garbage; no time is read from it
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** What the heap may grow by, in percent of what is in use, before it is cleared. */
const growthPercent = 60;

const megabyte = 1_024 * 1_024;
/** From this size on the room for new objects does not double any more. */
const enoughForNewBytes = {
  small: 0,
  /** What a page of a list leaves behind: to clear it several times in a page costs more than the page. */
  pages: 8 * megabyte,
  calls: 16 * megabyte,
} as const;
type Work = keyof typeof enoughForNewBytes;

let present: Work | undefined;
let watch: PerformanceObserver | undefined;

/** From here on the room for new objects does not grow. What it has, it keeps. */
export function keepHeapSmall(): void {
  makeRoomFor("small");
}

/** From here on it grows with what is asked of it, up to its bound: calls per second count. */
export function letHeapGrow(): void {
  makeRoomFor("calls");
}

/** Lets it grow until it holds what a page of a list leaves behind, unless it may grow more than that already. */
export function makeRoomForPages(): void {
  if (present !== "calls") makeRoomFor("pages");
}

function makeRoomFor(work: Work): void {
  if (work === present) return;
  if (present === undefined) setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  present = work;
  watch?.disconnect();
  watch = undefined;
  if (work !== "small") {
    // It grows when the heap is cleared, and is looked at after that.
    watch = new PerformanceObserver(() => boundNew(work));
    watch.observe({ entryTypes: ["gc"] });
  }
  boundNew(work);
}

function boundNew(work: Work): void {
  const bytes = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? 0;
  setFlagsFromString(`--semi-space-growth-factor=${bytes < enoughForNewBytes[work] ? 2 : 1}`);
}
