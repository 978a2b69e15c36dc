/** The command line with all features. `cli.ts` gives it a process. */
import type { ProcessIo } from "#cli/context.ts";
import { runProgram } from "#cli/program.ts";
import { features } from "#features.ts";

/** Runs one command line. @param argv the arguments after the program's name */
export function runCommandLine(argv: readonly string[], io: ProcessIo): Promise<void> {
  return runProgram(argv, { io, features });
}
