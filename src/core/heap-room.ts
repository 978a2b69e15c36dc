/**
 * Limits how much memory V8 may take beyond what is in use: one fixed setting, made when a process starts. By default V8
 * takes more and more memory in a process that allocates a lot, and does not return it: 12 MB in an idle worker that has
 * just loaded its modules, 100 MB and more in a command that streams a file or a fleet. So garbage is collected early,
 * which costs processor time (docs/decisions/008-simpler-forms.md).
 */
import { setFlagsFromString } from "node:v8";

/** How much the heap may grow before a collection, in percent of the memory in use. */
const growthPercent = 60;

/** From now on garbage is collected early, and the space for new objects keeps its current size. Call it first. */
export function keepHeapSmall(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  setFlagsFromString("--semi-space-growth-factor=1");
}
