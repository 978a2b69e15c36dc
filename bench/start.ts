/**
 * Measures how long commands take from start to end (wall and processor time, the best and the median of some rounds),
 * beside Node alone, and Node with the packages that a command needs for Redis and the platform; then a worker that has
 * nothing to do: how soon it is ready, its memory and processor time, and its commands to Redis. All are processes from
 * dist/, with a sandbox and a Redis of their own; the first start fills the cache of compiled code.
 *
 *   npm run bench:start
 *   npm run bench:start -- --rounds 21 --starts 10 --seconds 120
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startSandbox } from "#sandbox/server.ts";
import { cpuSecondsOf } from "./memory.ts";
import { startOwnRedis } from "./own-redis.ts";
import { startWorker } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "9" },
    starts: { type: "string", default: "5" },
    seconds: { type: "string", default: "60" },
  },
});
const rounds = Number(values.rounds);
const starts = Number(values.starts);
const seconds = Number(values.seconds);
const settleMs = 10_000;
const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
/** Prints the processor time of the process that it is loaded into. */
const hook = `process.on("exit", () => { const { user, system } = process.cpuUsage();
  require("node:fs").writeSync(2, "\\ncpu " + (user + system) / 1e6 + "\\n"); });`;

interface Round {
  readonly wall: number;
  readonly cpu: number;
}

async function measure(args: readonly string[], env: NodeJS.ProcessEnv, hookFile: string): Promise<Round> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, ["--require", hookFile, ...args], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  const wall = (performance.now() - startedMs) / 1_000;
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}:\n${stderr}`);
  return { wall, cpu: Number(/^cpu (\S+)$/m.exec(stderr)?.[1]) };
}

const { folder, dataDir, redis, close } = await startOwnRedis();
const sandbox = await startSandbox({ port: 0 });
const cacheHome = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
const path = process.env.PATH ?? "";
try {
  const hookFile = join(folder, "hook.cjs");
  await writeFile(hookFile, hook);
  const file = join(folder, "fleet.csv");
  const rows = Array.from({ length: 1_000 }, (_, n) => `${sandbox.state.sims.simIdAt(n)},s1.fast\n`);
  await writeFile(file, `simId,speedClass\n${rows.join("")}`);
  const env = {
    PATH: path,
    HOME: folder,
    XDG_CACHE_HOME: cacheHome,
    SIMFLEET_DATA_DIR: dataDir,
    SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
    SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
    SIMFLEET_AUTH_KEY: sandbox.options.authKey,
  };
  console.log("command            best wall  median wall   best cpu  median cpu  (seconds)");
  const programs = {
    "node -e 0": ["-e", "0"],
    "bullmq, undici": ["--input-type=module", "-e", 'import "bullmq"; import "undici";'],
    "--version": [cli, "--version"],
    "--help": [cli, "--help"],
    "a completion": [cli, "completion", "words", "--current", "", "--", "runs", "show"],
    "apply --help": [cli, "apply", "--help"],
    quota: [cli, "quota"],
    "plan (1,000 rows)": [cli, "plan", file],
  };
  for (const args of Object.values(programs)) await measure(args, env, hookFile); // fills the compile cache
  const all = new Map(Object.keys(programs).map((name) => [name, [] as Round[]]));
  for (let n = 0; n < rounds; n += 1) {
    for (const [name, args] of Object.entries(programs)) all.get(name)?.push(await measure(args, env, hookFile));
  }
  for (const [program, measured] of all) {
    const of = (name: keyof Round): string => {
      const sorted = measured.map((round) => round[name]).toSorted((a, b) => a - b);
      return `${(sorted[0] ?? 0).toFixed(3).padStart(9)}  ${(sorted[rounds >> 1] ?? 0).toFixed(3).padStart(11)}`;
    };
    console.log(`${program.padEnd(18)} ${of("wall")}  ${of("cpu")}`);
  }
  const workerEnv = { ...env, SIMFLEET_HTTP_PORT: "0", SIMFLEET_HTTP_ADMIN_TOKEN: `sf_bench-${"x".repeat(32)}` };
  const readyMs: number[] = [];
  for (let n = 0; n <= starts; n += 1) {
    const startedMs = performance.now();
    const worker = await startWorker(workerEnv);
    if (n > 0) readyMs.push(performance.now() - startedMs);
    try {
      if (n === starts) await measureIdle(worker.child.pid ?? 0);
    } finally {
      await worker.stop();
    }
  }
  const sorted = readyMs.toSorted((a, b) => a - b);
  console.log(`ready after     ${secondsText(sorted[0])} to ${secondsText(sorted.at(-1))}, ${starts} starts`);
} finally {
  await sandbox.close();
  await close();
}

async function measureIdle(pid: number): Promise<void> {
  await sleep(settleMs);
  const redisPid = Number(/process_id:(\d+)/.exec(await redis.info("server"))?.[1]);
  await redis.config("RESETSTAT");
  const before = { worker: await cpuSecondsOf(pid), redis: await cpuSecondsOf(redisPid) };
  await sleep(seconds * 1_000);
  const percent = (now: number, then: number): string => `${((100 * (now - then)) / seconds).toFixed(2)} % of a core`;
  console.log(`processor time  ${percent(await cpuSecondsOf(pid), before.worker)}, over ${seconds} s`);
  console.log(`Redis           ${percent(await cpuSecondsOf(redisPid), before.redis)}`);
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const megabytes = (name: string): number =>
    Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024);
  console.log(`memory          ${megabytes("VmRSS")} MB, at most ${megabytes("VmHWM")} MB`);
  const calls = [...(await redis.info("commandstats")).matchAll(/cmdstat_([^:]+):calls=(\d+)/g)]
    .map(([, name = "", count]): [string, number] => [name, Number(count) / seconds])
    .toSorted(([, a], [, b]) => b - a);
  const total = calls.reduce((sum, [, perSecond]) => sum + perSecond, 0);
  console.log(`Redis commands  ${total.toFixed(1)} per second, those in scripts included`);
  for (const [name, perSecond] of calls.slice(0, 12)) console.log(`  ${name.padEnd(20)} ${perSecond.toFixed(2)}`);
}

function secondsText(ms = 0): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
