/**
 * Runs a program from the configuration. Its input is passed only through standard input, so no process list shows it;
 * its environment contains none of simfleet's variables. No shell interprets the arguments.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { codeOf } from "#core/errors.ts";
import { scrubSecrets } from "#core/secrets/scrub-secrets.ts";
import { inTime, secondMs, type Clock } from "#core/time.ts";

const maxOutput = 65_536;
const maxWords = 200;
/** Time between SIGTERM and SIGKILL. */
const graceMs = 2 * secondMs;

interface Options {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Time after which the program and all its children are stopped; 30,000 ms by default. */
  readonly timeoutMs?: number;
}

export type CommandRunner = ReturnType<typeof commandRunner>;

export function commandRunner({ env, clock, timeoutMs = 30 * secondMs }: Options) {
  /**
   * @param terms `env` is added to its environment and contains no secret; when the signal aborts, the program is
   *   stopped; `complaint` is omitted if the program knows a secret that simfleet does not know and so cannot redact
   * @returns `output`: standard output, if the program succeeded; it may contain a secret. `fault`: fault of the
   *   program, without known secrets; undefined if it succeeded
   * @throws the signal's reason
   */
  const run = async (
    [program, ...args]: readonly [string, ...string[]],
    terms: {
      input: string;
      env?: Readonly<Record<string, string>>;
      complaint: "included" | "left-out";
      signal: AbortSignal;
    },
  ): Promise<{ readonly output: string; readonly fault: string | undefined }> => {
    const { signal } = terms;
    signal.throwIfAborted();
    // Our own credentials are among these variables.
    const others = Object.entries(env).filter(([name]) => !name.startsWith("SIMFLEET_"));
    const child = spawn(program, args, {
      env: { ...Object.fromEntries(others), ...terms.env },
      stdio: ["pipe", "pipe", "pipe"],
      // A separate process group, so that its children can be stopped with it.
      detached: true,
    });
    const output = gather(child.stdout);
    const complaint = gather(child.stderr);
    // A program that does not read all of its input is still evaluated by its exit.
    child.stdin.on("error", () => undefined).end(terms.input);
    const closed = once(child, "close") as Promise<[number | null, string | null]>;
    const ended = closed.then(
      ([code, killedBy]) =>
        code === 0 ? undefined : `${program} ended with ${code === null ? killedBy : `exit code ${code}`}`,
      (thrown: unknown) => `${program} cannot be started (${codeOf(thrown) ?? "unknown error"})`,
    );
    const done = new AbortController();
    const late = clock.sleep(timeoutMs, AbortSignal.any([done.signal, signal])).then(
      () =>
        child.exitCode === null && child.signalCode === null
          ? `${program} did not end within ${timeoutMs / secondMs} s`
          : `${program} ended, but a process that it started kept its output open for ${timeoutMs / secondMs} s`,
      () => undefined,
    );
    const isEnded = await Promise.race([ended.then(() => true), late.then(() => false)]);
    done.abort();
    if (!isEnded) await stop(child, inTime(clock, graceMs, ended));
    signal.throwIfAborted();
    const tooLong = output.isTooLong() ? `${program} printed more than ${maxOutput} bytes` : undefined;
    const fault = (await (isEnded ? ended : late)) ?? tooLong;
    if (fault === undefined) return { output: output.text(), fault };
    if (terms.complaint === "left-out") return { output: "", fault };
    const words = scrubSecrets(complaint.text()).replaceAll(/\s+/g, " ").trim().slice(0, maxWords);
    return { output: "", fault: words === "" ? fault : `${fault}: ${words}` };
  };
  return { run };
}

/** Stops the program and its children, without waiting for a process that keeps its output open. */
async function stop(child: ChildProcessWithoutNullStreams, ended: Promise<unknown>): Promise<void> {
  signalGroup(child, "SIGTERM");
  await ended;
  signalGroup(child, "SIGKILL");
  for (const stream of child.stdio) stream?.destroy();
}

function signalGroup({ pid }: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // No process of the group is left.
  }
}

function gather(stream: NodeJS.ReadableStream): { text: () => string; isTooLong: () => boolean } {
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length <= maxOutput) chunks.push(chunk);
  });
  return { text: () => Buffer.concat(chunks).toString(), isTooLong: () => length > maxOutput };
}
