/** One process of the command line, started as by a shell: its output, its exit code, and waiting for either. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export interface Ended {
  /** 128 and more for a signal, as a shell would say. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Numeric id of the user, and of the group, that it runs as; only root can set it. */
  readonly user?: number;
}

const signals: Partial<Record<NodeJS.Signals, number>> = { SIGINT: 130, SIGKILL: 137, SIGTERM: 143 };

export class RunningProcess {
  readonly child: ChildProcess;
  /** Resolves when the process has ended and all its output has arrived. */
  readonly ended: Promise<Ended>;
  stdout = "";
  stderr = "";

  constructor({ program, args, env, cwd, user }: Command) {
    this.child = spawn(program, args, {
      env,
      cwd,
      stdio: ["ignore", "pipe", "pipe"],
      ...(user === undefined ? {} : { uid: user, gid: user }),
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.ended = once(this.child, "close").then(([code, signal]: (number | NodeJS.Signals | null)[]) => ({
      code: typeof code === "number" ? code : (signals[signal as NodeJS.Signals] ?? 128),
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error("the process did not start");
    return this.child.pid;
  }

  /** Resolves with the match once the process has printed it; rejects if it ends without. */
  async said(pattern: RegExp, where: "stdout" | "stderr" = "stderr"): Promise<RegExpExecArray> {
    let hasEnded = false;
    void this.ended.then(() => (hasEnded = true));
    for (;;) {
      const found = pattern.exec(this[where]);
      if (found !== null) return found;
      if (hasEnded) throw new Error(`The process ended without saying ${pattern}:\n${this.stderr}${this.stdout}`);
      await Promise.race([once(this.child[where] ?? this.child, "data"), this.ended]);
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Ends it with a signal. */
  end(signal: NodeJS.Signals = "SIGTERM"): Promise<Ended> {
    this.kill(signal);
    return this.ended;
  }
}
