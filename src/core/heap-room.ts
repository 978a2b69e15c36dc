/**
 * Limits how much memory V8 may take beyond what is in use. By default V8 takes more and more memory in a process that
 * allocates a lot, and does not return it: 12 MB in an idle worker that has just loaded its modules, 100 MB and more in a
 * command that streams a file or a fleet. So garbage is collected early, which costs processor time; a process that plans
 * or works on a run gets more room for new objects, up to a bound (docs/contributing/decisions/008-simpler-forms.md).
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { every } from "./time.ts";

/** How much the heap may grow before a collection, in percent of the memory in use. */
const growthPercent = 40;
/** The space for new objects in a process that plans or works on a run; rows and calls leave much garbage. */
const newSpaceBytes = 16 * 1_024 * 1_024;
const checkEveryMs = 50;
/** Commands that need the memory for their rows. Others are faster with the room: `--help` by a tenth. */
const manyRows: readonly string[] = ["plan", "apply"];

let isGrowing = false;

/** From now on garbage is collected early, and the space for new objects keeps its current size. Call it early. */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  keepNewSpaceSmall();
}

/** Call it with the arguments of the process before its modules are loaded, for which V8 would take 16 MB more. */
export function limitHeap([command = "", ...options]: readonly string[]): void {
  // Others keep the heap small once their modules are loaded, a third faster; the usage of a large fleet needs the memory more.
  if (command === "worker" || options.includes("--usage")) keepHeapSmall();
  else if (manyRows.includes(command)) keepNewSpaceSmall();
}

function keepNewSpaceSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** Lets the space for new objects grow up to its bound, for good. */
export function letNewSpaceGrow(): void {
  if (isGrowing) return;
  isGrowing = true;
  setFlagsFromString("--semi-space-growth-factor=2");
  const stop = every(checkEveryMs, () => {
    const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space");
    if ((space?.space_size ?? 0) < newSpaceBytes) return;
    setFlagsFromString("--semi-space-growth-factor=1");
    stop();
  });
}
