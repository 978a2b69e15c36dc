/**
 * Rows per second without a quota, compared with a bare loop over the same HTTP library with the same number of
 * connections, alternating on the same sandbox (a separate process). Also the CPU time of both, in processes of their own, and
 * what such a run takes of Redis.
 *
 *   npm run bench:throughput
 *   npm run bench:throughput -- --latency 10 --connections 8,64
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import { systemClock } from "#core/time.ts";
import { RedisConnections } from "#redis/connection.ts";
import { EmbeddedRedis } from "#redis/embedded/embedded.ts";
import { cpuSecondsOfRedis, runMeasured } from "./memory.ts";
import { sampleRows } from "./sample-rows.ts";
import { startSandboxProcess } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "20000" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
    latency: { type: "string", default: "0" },
  },
});
const rows = Number(values.rows);

const folder = await mkdtemp(join(tmpdir(), "simfleet-bench-"));
const file = join(folder, "fleet.csv");
const { csv, simIds } = sampleRows(rows);
await writeFile(file, csv);
const sandbox = await startSandboxProcess([
  "--ids-from",
  file,
  "--limit",
  "Sim=1000000000",
  "--limit",
  "Auth=1000000",
  "--latency",
  values.latency,
]);
const dataDir = join(folder, "d");
const env = { ...sandbox.environment, SIMFLEET_DATA_DIR: dataDir };
const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet");
const embedded = await EmbeddedRedis.attach({ dataDir, cacheDir, path: process.env.PATH ?? "" });
const redisConnections = new RedisConnections({ embedded });
const redis = redisConnections.connect("bench");

/** Scripts that Redis has run so far, sent by digest or in full. */
async function scriptsSoFar(): Promise<number> {
  const stats = await redis.info("commandstats");
  const calls = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)].map(([, count]) => Number(count));
  return calls.reduce((sum, count) => sum + count, 0);
}

interface Cost {
  /** Rows per second. */
  readonly rate: number;
  /** CPU seconds per 10,000 rows. */
  readonly cpu: number;
}

/** A loop that only sends. */
async function bareLoop(connections: number): Promise<Cost> {
  const dispatcher = new Agent({ connections, pipelining: 1 });
  const url = sandbox.environment.SIMFLEET_ENDPOINT_GLOBAL ?? "";
  const answer = await request(`${url}/v1/auth`, {
    dispatcher,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      authKeyId: sandbox.environment.SIMFLEET_AUTH_KEY_ID,
      authKey: sandbox.environment.SIMFLEET_AUTH_KEY,
    }),
  });
  const pair = (await answer.body.json()) as { apiKey: string; token: string };
  const headers = { "x-svc-api-key": pair.apiKey, "x-svc-token": pair.token, "content-type": "application/json" };
  const queue = simIds.values();
  const startMs = systemClock.monotonicMs();
  const cpuBefore = process.cpuUsage();
  const lane = async (): Promise<void> => {
    for (const simId of queue) {
      const { body, statusCode } = await request(`${url}/v1/sims/${simId}/update_speed_class`, {
        dispatcher,
        method: "POST",
        headers,
        body: '{"speedClass":"s1.fast"}',
      });
      await body.json();
      if (statusCode !== 200) throw new Error(`status ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  const rate = (1_000 * rows) / (systemClock.monotonicMs() - startMs);
  const { user, system } = process.cpuUsage(cpuBefore);
  await dispatcher.close();
  return { rate, cpu: (user + system) / 100 / rows };
}

/** The CPU time is that of the whole command. */
async function simfleetRun(connections: number): Promise<Cost & { redisShare: number; scriptsPerS: number }> {
  const before = { cpuS: await cpuSecondsOfRedis(redis), scripts: await scriptsSoFar() };
  const connected = { ...env, SIMFLEET_CONNECTIONS: String(connections) };
  const { out, cpuSeconds } = await runMeasured(["apply", file, "--yes", "--json", "--send-unchanged"], connected);
  const report = JSON.parse(out) as { startedAt: string; finishedAt: string };
  const seconds = (Date.parse(report.finishedAt) - Date.parse(report.startedAt)) / 1_000;
  return {
    rate: rows / seconds,
    cpu: (cpuSeconds * 10_000) / rows,
    redisShare: ((await cpuSecondsOfRedis(redis)) - before.cpuS) / seconds,
    scriptsPerS: ((await scriptsSoFar()) - before.scripts) / seconds,
  };
}

interface Result {
  readonly connections: number;
  readonly bare: Cost;
  readonly simfleet: Awaited<ReturnType<typeof simfleetRun>>;
}

const results: Result[] = [];
try {
  await bareLoop(64); // warms the sandbox up
  for (const connections of values.connections.split(",").map(Number)) {
    for (let round = 0; round < Number(values.rounds); round += 1) {
      results.push({ connections, bare: await bareLoop(connections), simfleet: await simfleetRun(connections) });
    }
  }
} finally {
  await sandbox.stop();
  await redisConnections.close();
  await embedded.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
}
console.log(`${rows} rows, a platform that takes ${values.latency} ms`);
console.table(
  results.map(({ connections, bare, simfleet }) => ({
    connections,
    "bare loop rows/s": Math.round(bare.rate),
    "simfleet rows/s": Math.round(simfleet.rate),
    ratio: (simfleet.rate / bare.rate).toFixed(2),
    "CPU s per 10,000: bare": bare.cpu.toFixed(2),
    "CPU s: simfleet": simfleet.cpu.toFixed(2),
    "Redis, of a core": simfleet.redisShare.toFixed(2),
    "scripts/s": Math.round(simfleet.scriptsPerS),
  })),
);
