/** Runs a command in this process, on the data of a harness or through its worker. */
import { Readable } from "node:stream";
import type { ProcessIo } from "#cli/context.ts";
import type { AnyFeature } from "#cli/feature.ts";
import { runProgram } from "#cli/program.ts";
import { features } from "#features.ts";
import { type Ended, processIo } from "../../support/process-io.ts";
import { type ControlHarness, tokens } from "./control-harness.ts";

export async function runCommand(
  harness: ControlHarness,
  words: readonly string[],
  where: "local" | "remote",
  { more = [], stdin }: { more?: readonly AnyFeature[]; stdin?: string } = {},
): Promise<Ended> {
  const remote = { SIMFLEET_SERVER: harness.url, SIMFLEET_SERVER_TOKEN: tokens.admin };
  const { io, ended } = processIo(
    { ...harness.env, ...(where === "remote" ? remote : {}) },
    stdin === undefined ? undefined : (Readable.from([stdin]) as ProcessIo["stdin"]),
  );
  const all = [...features, ...more];
  await runProgram(words, { io, features: all });
  return ended;
}
