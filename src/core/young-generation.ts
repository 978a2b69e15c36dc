/**
 * How much room V8 may take for new objects. Left alone it takes more and more of it from a process that makes and drops
 * a lot, and does not give it back: 12 MB of an idle worker that has just loaded its modules, 100 MB and more of a command
 * that streams a file or a fleet. Kept small it costs a tenth to a fifth more processor time, so that it may grow where
 * calls per second count.
 */
import { setFlagsFromString } from "node:v8";

/** From here on the room does not grow; what it has, it keeps. */
export function keepYoungGenerationSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** From here on it grows with what is asked of it. */
export function letYoungGenerationGrow(): void {
  setFlagsFromString("--semi-space-growth-factor=2");
}
