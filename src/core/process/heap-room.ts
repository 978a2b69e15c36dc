/**
 * Limits how much memory V8 may take beyond what is in use. By default V8 takes more and more memory in a process that
 * allocates a lot, and does not return it: 12 MB in an idle worker that has just loaded its modules, 100 MB and more in
 * a command that streams a file or a fleet. So garbage is collected early, which costs processor time. A command whose
 * modules are loaded, and a worker that plans or works on a run, get more room for new objects, up to a bound
 * (docs/contributing/decisions/008-simpler-forms.md).
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { every } from "../time.ts";

/** How much the heap may grow before a collection, in percent of the memory in use. */
const growthPercent = 40;
/** The bound of the space for new objects; rows and calls leave much garbage. */
const newSpaceBytes = 16 * 1_024 * 1_024;
const checkEveryMs = 50;

let isGrowing = false;

/** From now on garbage is collected early, and the space for new objects keeps its current size. Call it early. */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  keepNewSpaceSmall();
}

/**
 * Call it with the arguments of the process before its modules are loaded, for which V8 would take 30 MB more. A short
 * command is a tenth faster without these. `--help`, which loads few modules, is a tenth faster with them.
 */
export function limitHeapAtStart([command = ""]: readonly string[]): void {
  if (command === "worker") keepHeapSmall();
  else if (!/^(?:-|$)/.test(command)) keepNewSpaceSmall();
}

/** Call it in a command whose modules are loaded; it may read a fleet or a file. */
export function limitHeapOfCommand(): void {
  keepHeapSmall();
  letNewSpaceGrow();
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
    keepNewSpaceSmall();
    stop();
  });
}
