/**
 * One worker and its supervisor: it starts the process again whenever it ends, as systemd or Kubernetes would, and
 * keeps its log and what it said about its resources.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, type WriteStream, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { until } from "../../support/until.ts";
import { nowMs, sleep } from "../time.ts";

const entry = fileURLToPath(new URL("./worker-entry.ts", import.meta.url));
const restartMs = 200;
/** A worker promises to stop within 25 s. */
const maxStopMs = 28_000;
const readyLine = "the worker is ready";

/** An end that nobody asked for. */
export interface Crash {
  readonly worker: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly wasReady: boolean;
  readonly lastLines: string;
}

export interface Resources {
  readonly fds: number;
  readonly megabytes: number;
}

export class WorkerProcess {
  readonly number: number;
  readonly crashes: Crash[] = [];
  /** Everything that any of its processes wrote. */
  log = "";
  #child: ChildProcess | undefined;
  #isReady = false;
  #isWanted = false;
  /** How the process is about to end by our hand. */
  #expected: "kill" | "stop" | undefined;
  #base: Resources | undefined;
  #thawedAtMs = 0;
  readonly #env: NodeJS.ProcessEnv;
  readonly #file: WriteStream;

  constructor(number: number, { env, logPath }: { env: NodeJS.ProcessEnv; logPath: string }) {
    this.number = number;
    this.#env = env;
    this.#file = createWriteStream(logPath, { flags: "a" });
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** At the last time that it became ready. */
  get base(): Resources | undefined {
    return this.#base;
  }

  start(): void {
    if (this.#child !== undefined) return;
    this.#isWanted = true;
    this.#isReady = false;
    this.#expected = undefined;
    const child = spawn(process.execPath, [entry], {
      env: this.#env,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    child.on("error", () => undefined);
    this.#child = child;
    const from = this.log.length;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.log += text;
        this.#file.write(text);
        if (!this.#isReady && this.#child === child && this.log.slice(from).includes(readyLine)) {
          this.#isReady = true;
          this.#base = this.resources();
        }
      });
    }
    child.once("close", (code, signal) => this.#ended(child, code, signal));
  }

  #ended(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    if (this.#child !== child) return;
    const isExpected = this.#expected === "kill" || (this.#expected === "stop" && code === 0);
    if (!isExpected) {
      const lastLines = this.log.trimEnd().split("\n").slice(-3).join("\n");
      this.crashes.push({ worker: this.number, code, signal, wasReady: this.#isReady, lastLines });
    }
    this.#child = undefined;
    this.#isReady = false;
    const again = this.#expected === undefined && this.#isWanted;
    if (again) void sleep(restartMs).then(() => (this.#isWanted ? this.start() : undefined));
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    if (signal === "SIGCONT") this.#thawedAtMs = nowMs();
    this.#child?.kill(signal);
  }

  async kill(): Promise<void> {
    await this.#end("kill", "SIGKILL");
  }

  /** @returns how long it took to stop, ms */
  async terminate(): Promise<number> {
    const beganMs = nowMs();
    await this.#end("stop", "SIGTERM");
    return nowMs() - beganMs;
  }

  async #end(how: "kill" | "stop", signal: NodeJS.Signals): Promise<void> {
    this.#isWanted = false;
    const child = this.#child;
    if (child === undefined) return;
    // A process that has not installed its handlers yet dies of SIGTERM, which is as good.
    this.#expected = this.#isReady ? how : "kill";
    const gone = once(child, "close");
    const beganMs = nowMs();
    child.kill(signal);
    // A frozen process cannot stop: its time starts when it is thawed.
    const leftMs = (): number => Math.max(beganMs, this.#thawedAtMs) + maxStopMs - nowMs();
    let isGone = false;
    while (!isGone && leftMs() > 0) {
      const late = new AbortController();
      isGone = await Promise.race([gone.then(() => true), sleep(leftMs(), late.signal).then(() => false)]);
      late.abort();
    }
    if (isGone) return;
    // It is reported as an end that nobody asked for.
    this.#expected = undefined;
    child.kill("SIGKILL");
    await gone;
  }

  moveClock(clockOffsetMs: number): void {
    if (this.#child?.connected) this.#child.send({ clockOffsetMs }, () => undefined);
  }

  untilReady(deadlineMs = 90_000): Promise<void> {
    return until(`worker ${this.number} is ready`, () => this.#isReady, deadlineMs);
  }

  /** Of the present process; undefined if there is none. */
  resources(): Resources | undefined {
    const pid = this.#child?.pid;
    if (pid === undefined) return undefined;
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
      return { fds: readdirSync(`/proc/${pid}/fd`).length, megabytes: kilobytes / 1_024 };
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    this.signal("SIGCONT");
    await this.kill();
    this.#file.end();
  }
}
