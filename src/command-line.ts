/** The command line with everything it needs: the program, all features and the worker. `cli.ts` gives it a process. */
import { version } from "#core/version.ts";
import type { ServeOptions } from "#kernel/serve.ts";
import type { ProcessIo } from "#cli/context.ts";
import { runProgram } from "#cli/program.ts";
import { features } from "#features.ts";

/** Runs one command line. @param argv the arguments after the program's name */
export function runCommandLine(argv: readonly string[], io: ProcessIo): Promise<void> {
  return runProgram(argv, { io, runWorker, features, version });
}

/** Loads the worker when asked for: no other command needs it. */
async function runWorker(options: ServeOptions): Promise<void> {
  const worker = await import("#worker.ts");
  await worker.runWorker(options);
}
