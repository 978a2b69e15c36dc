/**
 * Runs a program of the configuration: what it is given goes to its standard input and nowhere else, so that no list of
 * processes shows it, and of its environment everything of ours is left out. No shell reads the arguments.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { secondMs, type Clock } from "#core/time.ts";
import type { Command } from "#fleet/rotation.ts";
import { scrub } from "#telemetry/scrub.ts";

export interface Ended {
  /** What it printed, where it ended well; it may hold a secret. */
  readonly output: string;
  /** What went wrong, without any secret that we know; undefined when it ended well. */
  readonly fault: string | undefined;
}

const mostOutput = 65_536;
const mostWords = 200;

export class CommandRunner {
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #clock: Clock;
  readonly #timeoutMs: number;

  /** @param options `timeoutMs` after which a program is killed; 30,000 by default */
  constructor(options: {
    env: Readonly<Record<string, string | undefined>>;
    clock: Clock;
    timeoutMs?: number | undefined;
  }) {
    // Our own credentials are among our variables.
    const others = Object.entries(options.env).filter(([name]) => !name.startsWith("SIMFLEET_"));
    this.#env = Object.fromEntries(others);
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs ?? 30 * secondMs;
  }

  /**
   * Runs a program to its end.
   * @param terms `env` is added to its environment and holds no secret; when the signal aborts, it is killed;
   *   `complaint` is left out where the program knows a secret that we do not, and could not blot out of it
   * @throws the signal's reason
   */
  async run(
    [program, ...args]: Command,
    terms: {
      input: string;
      env?: Readonly<Record<string, string>>;
      complaint: "told" | "left-out";
      signal: AbortSignal;
    },
  ): Promise<Ended> {
    const { signal } = terms;
    signal.throwIfAborted();
    const child = spawn(program, args, { env: { ...this.#env, ...terms.env }, stdio: ["pipe", "pipe", "pipe"] });
    const output = gather(child.stdout);
    const complaint = gather(child.stderr);
    // One that does not read all of its input is judged by how it ends.
    child.stdin.on("error", () => undefined).end(terms.input);
    const done = new AbortController();
    let isLate = false;
    const timer = this.#clock.sleep(this.#timeoutMs, AbortSignal.any([done.signal, signal])).then(
      () => (isLate = child.kill("SIGKILL")),
      () => undefined,
    );
    const kill = (): boolean => child.kill("SIGKILL");
    signal.addEventListener("abort", kill, { once: true });
    let fault: string | undefined;
    try {
      const [code, killedBy] = (await once(child, "close")) as [number | null, string | null];
      if (code !== 0) fault = `${program} ended with ${code === null ? killedBy : `exit code ${code}`}`;
    } catch (thrown) {
      fault = `${program} cannot be started (${codeOf(thrown)})`;
    } finally {
      signal.removeEventListener("abort", kill);
      done.abort();
      await timer;
    }
    signal.throwIfAborted();
    if (isLate) fault = `${program} did not end within ${this.#timeoutMs / secondMs} s`;
    else if (output.isTooLong()) fault ??= `${program} printed more than ${mostOutput} bytes`;
    if (fault === undefined) return { output: output.text(), fault };
    if (terms.complaint === "left-out") return { output: "", fault };
    const words = scrub(complaint.text()).replaceAll(/\s+/g, " ").trim().slice(0, mostWords);
    return { output: "", fault: words === "" ? fault : `${fault}: ${words}` };
  }
}

function gather(stream: NodeJS.ReadableStream): { text: () => string; isTooLong: () => boolean } {
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on("data", (chunk: Buffer) => {
    length += chunk.length;
    if (length <= mostOutput) chunks.push(chunk);
  });
  return { text: () => Buffer.concat(chunks).toString(), isTooLong: () => length > mostOutput };
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown error";
}
