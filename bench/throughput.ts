/**
 * Rows per second without a quota, compared with a bare loop over the same HTTP library with the same number of
 * connections, alternating on the same sandbox (a separate process). Also what such a run takes of Redis.
 *
 *   npm run bench:throughput
 *   npm run bench:throughput -- --rows 20000 --rounds 5
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import { systemClock } from "#core/time.ts";
import { RedisConnections } from "#redis/connection.ts";
import { EmbeddedRedis } from "#redis/embedded/embedded.ts";
import { cpuSecondsOfRedis } from "./memory.ts";
import { sampleRows } from "./sample-rows.ts";
import { runSimfleet, startSandboxProcess } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "20000" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
  },
});
const rows = Number(values.rows);
const connections = Number(values.connections);

const folder = await mkdtemp(join(tmpdir(), "simfleet-bench-"));
const file = join(folder, "fleet.csv");
const { csv, simIds } = sampleRows(rows);
await writeFile(file, csv);
const sandbox = await startSandboxProcess(["--ids-from", file, "--limit", "Sim=1000000000", "--limit", "Auth=1000000"]);
const dataDir = join(folder, "d");
const env = { ...sandbox.environment, SIMFLEET_CONNECTIONS: String(connections), SIMFLEET_DATA_DIR: dataDir };
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

/** Rows per second of a loop that only sends. */
async function bareLoop(): Promise<number> {
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
  await dispatcher.close();
  return rate;
}

async function simfleetRun(): Promise<{ rate: number; redisShare: number; scriptsPerS: number }> {
  const before = { cpuS: await cpuSecondsOfRedis(redis), scripts: await scriptsSoFar() };
  const report = JSON.parse(await runSimfleet(["apply", file, "--yes", "--json"], env)) as {
    startedAt: string;
    finishedAt: string;
  };
  const seconds = (Date.parse(report.finishedAt) - Date.parse(report.startedAt)) / 1_000;
  return {
    rate: rows / seconds,
    redisShare: ((await cpuSecondsOfRedis(redis)) - before.cpuS) / seconds,
    scriptsPerS: ((await scriptsSoFar()) - before.scripts) / seconds,
  };
}

const results: ({ bare: number } & Awaited<ReturnType<typeof simfleetRun>>)[] = [];
try {
  await bareLoop(); // warms the sandbox up
  for (let round = 0; round < Number(values.rounds); round += 1) {
    results.push({ bare: await bareLoop(), ...(await simfleetRun()) });
  }
} finally {
  await sandbox.stop();
  await redisConnections.close();
  await embedded.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
}
console.log(`${rows} rows, ${connections} connections`);
console.table(
  results.map(({ bare, rate, redisShare, scriptsPerS }) => ({
    "bare loop rows/s": Math.round(bare),
    "simfleet rows/s": Math.round(rate),
    ratio: (rate / bare).toFixed(2),
    "Redis, of a core": redisShare.toFixed(2),
    "scripts/s": Math.round(scriptsPerS),
  })),
);
