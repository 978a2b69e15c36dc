/**
 * How much room V8 may take beyond what is in use. Left alone it takes more and more of it from a process that makes and
 * drops a lot, and does not give it back: 12 MB of an idle worker that has just loaded its modules, 100 MB and more of a
 * command that streams a file or a fleet. Kept small, the peak of a command no longer grows with the size of the fleet;
 * that costs a fifth more processor time, so that it may grow where calls per second count.
 */
import { setFlagsFromString } from "node:v8";

/** What the heap may grow by, in percent of what is in use, before it is cleared; 0 leaves that to V8. */
const closeGrowthPercent = 60;

/** From here on the room for new objects does not grow, and the whole is cleared early. What it has, it keeps. */
export function keepHeapSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString(`--heap-growing-percent=${closeGrowthPercent}`);
}

/** From here on it grows with what is asked of it. */
export function letHeapGrow(): void {
  setFlagsFromString("--semi-space-growth-factor=2");
  setFlagsFromString("--heap-growing-percent=0");
}
