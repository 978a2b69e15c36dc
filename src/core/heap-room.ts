/**
 * Limits how much memory V8 may take beyond what is in use. By default V8 takes more and more memory in a process that
 * allocates a lot, and does not return it: 12 MB in an idle worker that has just loaded its modules, 100 MB and more in
 * a command that streams a file or a fleet, 128 MB for new objects alone in a worker that processes a run. So garbage
 * is collected early, and the space for new objects grows up to a bound that depends on the work.
 */
// oxlint-disable-next-line no-restricted-imports -- it reports garbage collections; no time is read from it
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** How much the heap may grow before a collection, in percent of the memory in use. */
const growthPercent = 60;

const megabyte = 1_024 * 1_024;
/** From this size on, the space for new objects stops doubling. */
const enoughForNewBytes = {
  small: 0,
  /** The garbage of one list page: several collections per page would cost more than the page itself. */
  pages: 8 * megabyte,
  calls: 16 * megabyte,
} as const;
type Work = keyof typeof enoughForNewBytes;

let present: Work | undefined;
let watch: PerformanceObserver | undefined;

/** From now on the space for new objects does not grow; it keeps its current size. */
export function keepHeapSmall(): void {
  makeRoomFor("small");
}

/** From now on the space for new objects grows with demand, up to its bound: calls per second matter. */
export function letHeapGrow(): void {
  makeRoomFor("calls");
}

/** Lets the space grow until it holds the garbage of one list page, unless it may already grow further. */
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
    // The space grows during a collection and is checked afterward.
    watch = new PerformanceObserver(() => boundNew(work));
    watch.observe({ entryTypes: ["gc"] });
  }
  boundNew(work);
}

function boundNew(work: Work): void {
  const bytes = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? 0;
  setFlagsFromString(`--semi-space-growth-factor=${bytes < enoughForNewBytes[work] ? 2 : 1}`);
}
