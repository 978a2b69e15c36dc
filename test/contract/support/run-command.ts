/** Runs a command in this process, on the data of a harness or through its worker. */
import type { AnyFeature } from "#cli/feature.ts";
import { runProgram } from "#cli/program.ts";
import { features } from "#features.ts";
import { type ControlHarness, tokens } from "./control-harness.ts";

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function runCommand(
  harness: ControlHarness,
  words: readonly string[],
  where: "local" | "remote",
  more: readonly AnyFeature[] = [],
): Promise<Ended> {
  const ended = { code: 0, stdout: "", stderr: "" };
  const remote = { SIMFLEET_SERVER: harness.url, SIMFLEET_SERVER_TOKEN: tokens.admin };
  const io = {
    env: { ...harness.env, ...(where === "remote" ? remote : {}) },
    stdout: { write: (text: string) => (ended.stdout += text) },
    stderr: { write: (text: string) => (ended.stderr += text) },
    stdin: process.stdin,
    interrupt: new AbortController().signal,
    setExitCode: (code: number) => {
      ended.code = code;
    },
  };
  const all = [...features, ...more];
  await runProgram(words, { io, runWorker: () => Promise.resolve(), features: all, version: "0" });
  return ended;
}
