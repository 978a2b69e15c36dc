/** Runs a command in this process, on the data of a harness or through its worker. */
import type { AnyFeature } from "#cli/feature.ts";
import { runProgram } from "#cli/program.ts";
import { features } from "#features.ts";
import { type Ended, processIo } from "../../support/process-io.ts";
import { type ControlHarness, tokens } from "./control-harness.ts";

export async function runCommand(
  harness: ControlHarness,
  words: readonly string[],
  where: "local" | "remote",
  more: readonly AnyFeature[] = [],
): Promise<Ended> {
  const remote = { SIMFLEET_SERVER: harness.url, SIMFLEET_SERVER_TOKEN: tokens.admin };
  const { io, ended } = processIo({ ...harness.env, ...(where === "remote" ? remote : {}) });
  const all = [...features, ...more];
  await runProgram(words, { io, runWorker: () => Promise.resolve(), features: all, version: "0" });
  return ended;
}
