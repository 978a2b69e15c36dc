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
  close(): void;
}

export async function openEngine(): Promise<Engine> {
  return spawnSync("luajit", ["-v"]).status === 0 ? openLuaJit() : openWebAssembly();
}

/** One process for each call, so that several can run at once. */
function openLuaJit(): Engine {
  const folder = mkdtempSync(join(tmpdir(), "limiter-simulation-"));
  const file = join(folder, "program.lua");
  const entry = "local values = {} for i = 2, #arg do values[i - 1] = tonumber(arg[i]) end";
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
    close: () => rmSync(folder, { recursive: true }),
  };
}

export async function openWebAssembly(): Promise<Engine> {
  const lua = await new wasmoon.LuaFactory().createEngine({ injectObjects: false });
  const run = (await lua.doString(simulationProgram)) as {
    readonly schedules: (first: number, last: number) => string;
    readonly fleet: (seed: number, processes: number) => string;
  };
  return {
    name: "WebAssembly",
    schedules: (first, last) => Promise.resolve(run.schedules(first, last)),
    fleet: (seed, processes) => Promise.resolve(run.fleet(seed, processes).trim()),
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
