/**
 * Runs a program from the configuration. Its input is passed only through standard input, so no process list shows it; its
 * environment contains none of simfleet's variables. No shell interprets the arguments.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { scrubSecrets } from "#core/scrub-secrets.ts";
import { inTime, secondMs, type Clock } from "#core/time.ts";
import type { Command } from "#fleet/rotation.ts";

export interface Ended {
  /** Standard output, if the program succeeded; it may contain a secret. */
  readonly output: string;
  /** Fault of the program, without known secrets. Undefined if it succeeded. */
  readonly fault: string | undefined;
}

const maxOutput = 65_536;
const maxWords = 200;
/** Time between SIGTERM and SIGKILL. */
const graceMs = 2 * secondMs;

export class CommandRunner {
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #clock: Clock;
  readonly #timeoutMs: number;

  /** @param options `timeoutMs` after which the program and all its children are stopped; 30,000 by default */
  constructor(options: {
    env: Readonly<Record<string, string | undefined>>;
    clock: Clock;
    timeoutMs?: number | undefined;
  }) {
    // Our own credentials are among these variables.
    const others = Object.entries(options.env).filter(([name]) => !name.startsWith("SIMFLEET_"));
    this.#env = Object.fromEntries(others);
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs ?? 30 * secondMs;
  }

  /**
   * Runs a program to its end.
   * @param terms `env` is added to its environment and contains no secret; when the signal aborts, the program is stopped;
   *   `complaint` is omitted if the program knows a secret that simfleet does not know and therefore cannot redact
   * @throws the signal's reason
   */
  async run(
    [program, ...args]: Command,
    terms: {
      input: string;
      env?: Readonly<Record<string, string>>;
      complaint: "included" | "left-out";
      signal: AbortSignal;
    },
  ): Promise<Ended> {
    const { signal } = terms;
    signal.throwIfAborted();
    // A separate process group, so that its children can be stopped with it.
    const child = spawn(program, args, {
      env: { ...this.#env, ...terms.env },
      stdio: ["pipe", "pipe", "pipe"],
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
      (thrown: unknown) => `${program} cannot be started (${codeOf(thrown)})`,
    );
    const done = new AbortController();
    const stopped = this.#clock
      .sleep(this.#timeoutMs, AbortSignal.any([done.signal, signal]))
      .then(
        () => lateText(child, program, this.#timeoutMs),
        () => undefined,
      )
      .then(async (late) => {
        if (!done.signal.aborted) await this.#stop(child, ended);
        return late;
      });
    const first = await Promise.race([ended, stopped]);
    done.abort();
    const late = await stopped;
    signal.throwIfAborted();
    const tooLong = output.isTooLong() ? `${program} printed more than ${maxOutput} bytes` : undefined;
    const fault = late ?? first ?? tooLong;
    if (fault === undefined) return { output: output.text(), fault };
    if (terms.complaint === "left-out") return { output: "", fault };
    const words = scrubSecrets(complaint.text()).replaceAll(/\s+/g, " ").trim().slice(0, maxWords);
    return { output: "", fault: words === "" ? fault : `${fault}: ${words}` };
  }

  /** Stops the program and its children, without waiting for a process that keeps its output open. */
  async #stop(child: ChildProcessWithoutNullStreams, ended: Promise<unknown>): Promise<void> {
    signalGroup(child, "SIGTERM");
    await inTime(this.#clock, graceMs, ended);
    signalGroup(child, "SIGKILL");
    for (const stream of child.stdio) stream?.destroy();
  }
}

function signalGroup({ pid }: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // No process of the group is left.
  }
}

function lateText(
  { exitCode, signalCode }: ChildProcessWithoutNullStreams,
  program: string,
  timeoutMs: number,
): string {
  const hasEnded = exitCode !== null || signalCode !== null;
  return hasEnded
    ? `${program} ended, but a process that it started kept its output open for ${timeoutMs / secondMs} s`
    : `${program} did not end within ${timeoutMs / secondMs} s`;
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

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown error";
}
