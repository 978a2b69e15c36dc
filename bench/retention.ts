/**
 * Two years of a run every night, on a clock that jumps from night to night: Redis's memory after each sweep, with the default
 * retention. Submission, state and removal are simfleet's own; to make a night take a second, the rows of all segments are the
 * same packed bytes, and their outcomes are written as finished segments, without the calls.
 *
 *   npm run bench:retention
 *   npm run bench:retention -- --rows 100000 --nights 400
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { loadConfig } from "#config/load.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { rotationLog } from "#jobs/credentials/record.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { SyncLog } from "#jobs/inventory/store/sync-record.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { type StoredRow, encodeSettled, packOutcomes, packRows } from "#jobs/runs/ledger/packing.ts";
import { runRemoval } from "#jobs/runs/removal/removal.ts";
import type { RunHead } from "#jobs/runs/ledger/run-record.ts";
import { sweep } from "#jobs/storage/sweep.ts";
import { RedisConnections } from "#redis/connection.ts";
import { findRedisServer } from "#redis/embedded/find-server.ts";
import { Keys } from "#redis/keys.ts";
import { redisMemory } from "#redis/memory.ts";

const { values } = parseArgs({
  options: { nights: { type: "string", default: "730" }, rows: { type: "string", default: "1000000" } },
});
const nights = Number(values.nights);
const rowsPerSegment = 500;
const segmentCount = Math.ceil(Number(values.rows) / rowsPerSegment);
const dayMs = 86_400_000;
const megabyte = 1_048_576;

const folder = await mkdtemp(join(tmpdir(), "simfleet-bench-"));
const server = await findRedisServer({
  path: process.env.PATH ?? "",
  cacheDir: join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet"),
});
const socketPath = join(folder, "redis.sock");
const libraries = server.libraries === undefined ? {} : { LD_LIBRARY_PATH: server.libraries };
const redisProcess = spawn(
  server.binary,
  ["--port", "0", "--unixsocket", socketPath, "--save", "", "--maxmemory-policy", "noeviction"],
  { cwd: folder, env: { ...process.env, ...libraries }, stdio: ["ignore", "pipe", "inherit"] },
);
await new Promise<void>((resolve) => {
  redisProcess.stdout.on("data", (said: Buffer) => {
    if (/ready to accept/i.test(said.toString())) resolve();
  });
});
const connections = new RedisConnections({ socketPath });
const redis = connections.connect("bench");

let nowMs = Date.UTC(2026, 0, 1, 3);
const clock: Clock = { ...systemClock, wallMs: () => nowMs };
const keys = new Keys();
const storeDeps = { redis, keys, clock, bounds: { keepMs: 30 * dayMs, most: 1_000_000 } };
const ledger = new Ledger(storeDeps);
const sweepDeps = {
  ...storeDeps,
  ledger,
  runRemoval: runRemoval(storeDeps),
  inventory: new Inventory(storeDeps),
  syncs: new SyncLog(storeDeps),
  rotations: rotationLog(storeDeps),
  profiles: ["default"],
  configuredRotations: [],
  keyColumnOf: () => "simId" as const,
  retention: loadConfig({ env: {} }).retention,
  archiveOf: () => Promise.reject(new Error("there is no archive")),
};

const rows = Array.from({ length: rowsPerSegment }, (_, index): StoredRow => ({
  index,
  line: index + 2,
  key: `89423${String(index).padStart(14, "0")}`,
  inputs: ["s1.fast"],
  cells: [`89423${String(index).padStart(14, "0")}`, "s1.fast"],
  weight: 1,
}));
const packedRows = packRows(rows);
const packedOutcomes = packOutcomes(
  new Map(
    rows.map(({ index }) => [
      index,
      encodeSettled({ outcome: "done", reason: "", previous: ["s1.slow"], attempts: 1, finishedAtMs: nowMs + index }),
    ]),
  ),
);

/** Writes the same bytes to each segment. */
async function writeSegments(key: string, packed: Buffer): Promise<void> {
  for (let from = 0; from < segmentCount; from += rowsPerSegment) {
    const some = Array.from({ length: Math.min(rowsPerSegment, segmentCount - from) }, (_, i) => from + i);
    await redis.hset(key, ...some.flatMap((segment) => [String(segment), packed]));
  }
}

async function runOfNight(night: number): Promise<void> {
  const runId = `r-night-${night}`;
  const total = segmentCount * rowsPerSegment;
  const head: RunHead = {
    runId,
    name: "nightly",
    profile: "default",
    bucket: "default.Sim",
    operations: [setSpeedClass],
    options: {
      partial: false,
      skipUnchanged: false,
    },
    header: ["simId", "speedClass"],
    source: "fleet.csv",
    sha256: "0".repeat(64),
    total,
    rejectedAtIntake: 0,
    skippedAtIntake: 0,
    canarySegments: 0,
    segments: Array.from({ length: segmentCount }, (_, i) => ({
      firstRow: i * rowsPerSegment,
      callable: rowsPerSegment,
    })),
    createdAtMs: nowMs,
  };
  await writeSegments(keys.runDraft(runId), packedRows);
  await ledger.commit(head, "running", runId);
  await writeSegments(keys.runFinished(runId), packedOutcomes);
  await redis.hset(keys.run(runId), { state: "completed", done: total, finishedAtMs: nowMs });
}

const shown: { night: number; megabytes: string; runs: number }[] = [];
let mostAfterMonth = 0;
let atMonth = 0;
try {
  for (let night = 1; night <= nights; night += 1) {
    nowMs += dayMs;
    await runOfNight(night);
    const { problems } = await sweep(sweepDeps, new AbortController().signal);
    if (problems.length > 0) throw new Error(problems.join("; "));
    const { usedBytes } = await redisMemory(redis, keys);
    if (night === 31) atMonth = usedBytes;
    if (night > 31) mostAfterMonth = Math.max(mostAfterMonth, usedBytes);
    if ([1, 10, 31, 60, 180, 365, 366, 500, nights].includes(night)) {
      const megabytes = (usedBytes / megabyte).toFixed(1);
      shown.push({ night, megabytes, runs: await redis.zcard(keys.runs()) });
    }
  }
} finally {
  await connections.close();
  redisProcess.kill("SIGTERM");
  await once(redisProcess, "exit");
  await rm(folder, { recursive: true, force: true });
}
console.log(`${nights} nights of ${segmentCount * rowsPerSegment} rows, default retention`);
console.table(shown);
console.log(`most after night 31 / night 31: ${(mostAfterMonth / atMonth).toFixed(3)}`);
