/** Gives the command line a process: its arguments, streams, signals and exit code. */
import { cacheCompiledCode } from "#core/process/compile-cache.ts";
import { limitHeapAtStart } from "#core/process/heap-room.ts";
import { standardOutput } from "#cli/standard-output.ts";

/** Commands that run until they are stopped: Ctrl-C is their normal end, a closed terminal is not. */
const servers: readonly unknown[] = ["worker", "gateway"];

/** Runs the command line of this process to its end and exits. */
export async function start(): Promise<void> {
  const [, , command] = process.argv;
  limitHeapAtStart(process.argv.slice(2));
  cacheCompiledCode(process.env);
  const { runCommandLine } = await import("#command-line.ts");
  const interrupt = new AbortController();
  let endedBy: NodeJS.Signals | undefined;
  const stop = (name: NodeJS.Signals): void => {
    // A second signal does not wait any longer; a closed terminal may send several.
    if (interrupt.signal.aborted && name !== "SIGHUP") process.exit(130);
    endedBy ??= name;
    interrupt.abort(new Error(`stopped by ${name}`));
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  // Whose output is no terminal, as under nohup, continues without one.
  const hasTerminal = process.stdout.isTTY || process.stderr.isTTY;
  process.on("SIGHUP", () => {
    if (hasTerminal && !servers.includes(command)) stop("SIGHUP");
  });
  // A closed terminal is no error.
  process.stderr.on("error", () => undefined);
  await runCommandLine(process.argv.slice(2), {
    env: process.env,
    stdout: standardOutput(process.stdout, (error) => {
      // A reader that has exited, such as `head`, is no error.
      if (error.code === "EPIPE") process.exit(0);
      if (endedBy === "SIGHUP") return;
      console.error(`simfleet: the output could not be written: ${error.message}`);
      process.exit(4);
    }),
    stderr: process.stderr,
    stdin: process.stdin,
    interrupt: interrupt.signal,
    setExitCode: (code) => {
      process.exitCode = code;
    },
  });
  await Promise.all([drained(process.stdout), drained(process.stderr)]);
  if (endedBy === undefined || endedBy === "SIGTERM" || servers.includes(command)) process.exit();
  // Only a process that the signal has ended makes a shell stop its loop.
  process.removeAllListeners(endedBy);
  process.kill(process.pid, endedBy);
}

/** Resolves once written output has left the process. */
function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write("", () => resolve()));
}
