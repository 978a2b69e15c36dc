/**
 * Measures a worker that has nothing to do: how soon it is ready, its memory and the processor time it takes, and the
 * commands it sends to Redis. The worker is a separate process from dist/; the first start fills the cache of compiled
 * code and is not counted.
 *
 *   npm run bench:idle
 *   npm run bench:idle -- --seconds 120 --starts 10
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { RedisConnections } from "#redis/connection.ts";
import { EmbeddedRedis } from "#redis/embedded/embedded.ts";
import { cpuSecondsOf } from "./memory.ts";
import { startSandboxProcess, startWorker } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "60" }, starts: { type: "string", default: "5" } },
});
const seconds = Number(values.seconds);
const starts = Number(values.starts);
const settleMs = 10_000;

const folder = await mkdtemp(join(tmpdir(), "bench-idle-"));
const sandbox = await startSandboxProcess([]);
const dataDir = join(folder, "data");
const cacheHome = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
const embedded = await EmbeddedRedis.attach({
  dataDir,
  cacheDir: join(cacheHome, "simfleet"),
  path: process.env.PATH ?? "",
});
const connections = new RedisConnections({ embedded });
const redis = connections.connect("bench");
const env = {
  ...sandbox.environment,
  XDG_CACHE_HOME: cacheHome,
  SIMFLEET_DATA_DIR: dataDir,
  SIMFLEET_HTTP_PORT: "0",
  SIMFLEET_HTTP_ADMIN_TOKEN: `sf_bench-${"x".repeat(32)}`,
};
try {
  const readyMs: number[] = [];
  for (let n = 0; n <= starts; n += 1) {
    const startedMs = performance.now();
    const worker = await startWorker(env);
    if (n > 0) readyMs.push(performance.now() - startedMs);
    try {
      if (n === starts) await measure(worker.child.pid ?? 0);
    } finally {
      await worker.stop();
    }
  }
  const sorted = readyMs.toSorted((a, b) => a - b);
  console.log(`ready after     ${secondsText(sorted[0])} to ${secondsText(sorted.at(-1))}, ${starts} starts`);
} finally {
  await connections.close();
  await embedded.close();
  await sandbox.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

async function measure(pid: number): Promise<void> {
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
