/** What runs the simulation: LuaJIT where it is installed, several times as fast, else Lua in WebAssembly. */
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import wasmoon from "wasmoon";
import { simulationProgram } from "./program.ts";

export interface Engine {
  readonly name: string;
  /** Runs the schedules with these seeds. @returns the lines of summary.lua */
  schedules(first: number, last: number): Promise<string>;
  /** Runs so many processes on one quota. */
  fleet(seed: number, processes: number): Promise<string>;
  /** Bulk work next to others, for some windows. @returns the numbers of neighbors.lua */
  neighbors(seed: number, others: Neighbors): Promise<readonly number[]>;
  close(): void;
}

/** Shares are of the limit, 0 to 1. */
export interface Neighbors {
  readonly limit: number;
  readonly periodMs: number;
  /** Calls of somebody who calls the platform directly, so many at once. */
  readonly rival?: number;
  readonly burst?: number;
  /** Live calls with permits. */
  readonly live?: number;
  readonly reserve?: string;
  readonly windows?: number;
  /** What a rival takes at each reset. */
  readonly grab?: number;
}

function valuesOf({
  limit,
  periodMs,
  rival = 0,
  burst = 1,
  live = 0,
  reserve = "auto",
  windows = 60,
  grab = 0,
}: Neighbors) {
  return [limit, periodMs, rival, burst, live, reserve, windows, grab] as const;
}

export async function openEngine(): Promise<Engine> {
  return spawnSync("luajit", ["-v"]).status === 0 ? openLuaJit() : openWebAssembly();
}

/** One process for each call, so that several can run at once. */
function openLuaJit(): Engine {
  const folder = mkdtempSync(join(tmpdir(), "limiter-simulation-"));
  const file = join(folder, "program.lua");
  const entry = "local values = {} for i = 2, #arg do values[i - 1] = tonumber(arg[i]) or arg[i] end";
  writeFileSync(
    file,
    `local run = (function()\n${simulationProgram}\nend)()\n${entry}\nprint(run[arg[1]](unpack(values)))\n`,
  );
  const run = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)("luajit", [file, ...args], { maxBuffer: 1e8 })).stdout.trim();
  return {
    name: "LuaJIT",
    schedules: (first, last) => run("schedules", String(first), String(last)),
    fleet: (seed, processes) => run("fleet", String(seed), String(processes)),
    neighbors: async (seed, others) =>
      (await run("neighbors", String(seed), ...valuesOf(others).map(String))).split(" ").map(Number),
    close: () => rmSync(folder, { recursive: true }),
  };
}

export async function openWebAssembly(): Promise<Engine> {
  const lua = await new wasmoon.LuaFactory().createEngine({ injectObjects: false });
  const run = (await lua.doString(simulationProgram)) as {
    readonly schedules: (first: number, last: number) => string;
    readonly fleet: (seed: number, processes: number) => string;
    readonly neighbors: (seed: number, ...values: readonly (number | string)[]) => string;
  };
  return {
    name: "WebAssembly",
    schedules: (first, last) => Promise.resolve(run.schedules(first, last)),
    fleet: (seed, processes) => Promise.resolve(run.fleet(seed, processes).trim()),
    neighbors: (seed, others) =>
      Promise.resolve(
        run
          .neighbors(seed, ...valuesOf(others))
          .split(" ")
          .map(Number),
      ),
    close: () => lua.global.close(),
  };
}

export interface Sums {
  readonly schedules: number;
  readonly exchanges: number;
  readonly calls: number;
  readonly refused: number;
  /** One line for each schedule in which a property did not hold; at most 20 of each call. */
  readonly failures: readonly string[];
}

export function sumsOf(lines: string): Sums {
  const [numbers = "", ...failures] = lines.split("\n");
  const [schedules = 0, exchanges = 0, calls = 0, refused = 0] = numbers.split(" ").map(Number);
  return { schedules, exchanges, calls, refused, failures };
}
