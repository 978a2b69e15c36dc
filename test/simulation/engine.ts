/** What runs the simulation: LuaJIT where it is installed, several times as fast, else the Lua of a Redis. */
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { attachRedis } from "#redis/embedded/embedded.ts";
import { simulationProgram } from "./program.ts";

export interface Engine {
  readonly name: string;
  /** Runs the schedules with these seeds. @returns the lines of summary.lua */
  schedules(first: number, last: number): Promise<string>;
  /** Runs so many processes on one quota. */
  fleet(seed: number, processes: number): Promise<string>;
  /** Bulk work next to others, for some windows. @returns the numbers of neighbors.lua */
  neighbors(seed: number, others: Neighbors): Promise<readonly number[]>;
  close(): Promise<void>;
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
  return spawnSync("luajit", ["-v"]).status === 0 ? openLuaJit() : openRedisLua();
}

/** Calls one of the functions of summary.lua with the values of a list. */
const callOf = (list: string): string =>
  `local values = {} for i = 2, #${list} do values[i - 1] = tonumber(${list}[i]) or ${list}[i] end ` +
  `local said = run[${list}[1]](unpack(values))`;
const program = `local run = (function()\n${simulationProgram}\nend)()\n`;

function engineOf(name: string, run: (...words: string[]) => Promise<string>, close: () => Promise<void>): Engine {
  return {
    name,
    schedules: (first, last) => run("schedules", String(first), String(last)),
    fleet: (seed, processes) => run("fleet", String(seed), String(processes)),
    neighbors: async (seed, others) =>
      (await run("neighbors", String(seed), ...valuesOf(others).map(String))).split(" ").map(Number),
    close,
  };
}

/** One process for each call, so that several can run at once. */
function openLuaJit(): Engine {
  const folder = mkdtempSync(join(tmpdir(), "limiter-simulation-"));
  const file = join(folder, "program.lua");
  writeFileSync(file, `${program}${callOf("arg")}\nprint(said)\n`);
  const run = async (...words: string[]): Promise<string> =>
    (await promisify(execFile)("luajit", [file, ...words], { maxBuffer: 1e8 })).stdout.trim();
  return engineOf("LuaJIT", run, () => rm(folder, { recursive: true }));
}

/** A Redis for this alone, since a script keeps all others waiting. */
export async function openRedisLua(): Promise<Engine> {
  const dataDir = mkdtempSync(join(tmpdir(), "limiter-simulation-"));
  const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet");
  const embedded = await attachRedis({ dataDir, cacheDir, path: process.env.PATH ?? "" });
  const redis = new Redis({ path: embedded.socketPath });
  const script = `${program}${callOf("ARGV")}\nreturn said`;
  const run = async (...words: string[]): Promise<string> => String(await redis.eval(script, 0, ...words)).trim();
  return engineOf("the Lua of Redis", run, async () => {
    redis.disconnect();
    await embedded.close();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });
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
