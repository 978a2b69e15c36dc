/** Gives the command line a process: its arguments, streams, signals and exit code. */
import { cacheCompiledCode } from "#core/compile-cache.ts";
import { keepHeapSmall } from "#core/heap-room.ts";

/** Runs the command line of this process to its end and exits. */
export async function start(): Promise<void> {
  // Other commands call it once their modules are loaded, which takes a third less time without it.
  if (process.argv[2] === "worker") keepHeapSmall();
  cacheCompiledCode(process.env);
  const { runCommandLine } = await import("#command-line.ts");
  const interrupt = new AbortController();
  const stop = (name: NodeJS.Signals): void => {
    // A second signal does not wait any longer.
    if (interrupt.signal.aborted) process.exit(130);
    interrupt.abort(new Error(`stopped by ${name}`));
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  // A reader that has exited, such as `head`, is no error.
  process.stderr.on("error", () => undefined);
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    console.error(`simfleet: the answer could not be written: ${error.message}`);
    process.exit(4);
  });
  await runCommandLine(process.argv.slice(2), {
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    interrupt: interrupt.signal,
    setExitCode: (code) => {
      process.exitCode = code;
    },
  });
  await Promise.all([drained(process.stdout), drained(process.stderr)]);
  process.exit();
}

/** Resolves once written output has left the process. */
function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write("", () => resolve()));
}
