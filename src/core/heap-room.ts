/**
 * How much room V8 may take beyond what is in use. Left alone it takes more and more of it from a process that makes and
 * drops a lot, and does not give it back: 12 MB of an idle worker that has just loaded its modules, 100 MB and more of a
 * command that streams a file or a fleet. Kept small, the peak of a command no longer grows with the size of the fleet;
 * that costs a fifth more processor time, so that it may grow where calls per second count.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** What the heap may grow by, in percent of what is in use, before it is cleared; 0 leaves that to V8. */
const closeGrowthPercent = 60;

/** Room for new objects of a process that reads pages: enough for what one page leaves behind. */
const pagesRoomBytes = 8 * 1_024 * 1_024;

let isKeptSmall = false;

/** From here on the room for new objects does not grow, and the whole is cleared early. What it has, it keeps. */
export function keepHeapSmall(): void {
  isKeptSmall = true;
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString(`--heap-growing-percent=${closeGrowthPercent}`);
}

/** From here on it grows with what is asked of it. */
export function letHeapGrow(): void {
  isKeptSmall = false;
  setFlagsFromString("--semi-space-growth-factor=2");
  setFlagsFromString("--heap-growing-percent=0");
}

/**
 * Lets the room for new objects grow until it holds what a page of a list leaves behind, in a heap that is kept small: to
 * clear it several times in a page costs more than the page. To be called with every page.
 */
export function makeRoomForPages(): void {
  if (!isKeptSmall) return;
  const room = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
  const isEnough = room === undefined || room.space_size >= pagesRoomBytes;
  setFlagsFromString(`--semi-space-growth-factor=${isEnough ? 1 : 2}`);
}
