/** What a command that runs in this process is given, and what it leaves. */
import type { ProcessIo } from "#cli/context.ts";

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** @param stdin what a terminal or a pipe sends. @returns `ended` has what the command wrote, and its exit code */
export function processIo(
  env: Readonly<Record<string, string>> = {},
  stdin: ProcessIo["stdin"] = process.stdin,
): { io: ProcessIo; ended: Ended } {
  const ended: Ended = { code: 0, stdout: "", stderr: "" };
  const io: ProcessIo = {
    env,
    stdout: { write: (text) => (ended.stdout += text) },
    stderr: { write: (text) => (ended.stderr += text) },
    stdin,
    interrupt: new AbortController().signal,
    setExitCode: (code) => {
      ended.code = code;
    },
  };
  return { io, ended };
}
