/**
 * Rows per second without a quota, of simfleet, of a loop that only sends, and of a BullMQ job per row: each in a
 * process of its own, in turn, against the same sandbox and Redis. Also the CPU time and the memory of these processes.
 *
 *   npm run bench:throughput
 *   npm run bench:throughput -- --latency 0 --connections 32
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { cpuSecondsOfRedis, runMeasured } from "./memory.ts";
import { startOwnRedis } from "./own-redis.ts";
import { median } from "./peers/report.ts";
import { sampleRows } from "./sample-rows.ts";
import { startSandboxProcess } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "20000" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "8,32" },
    latency: { type: "string", default: "10" },
  },
});
const rows = Number(values.rows);

const { folder, dataDir, redis, socketPath, close } = await startOwnRedis();
const file = join(folder, "fleet.csv");
await writeFile(file, sampleRows(rows).csv);
const limits = ["--limit", "Sim=1000000000", "--limit", "Auth=1000000"];
const sandbox = await startSandboxProcess(["--ids-from", file, ...limits, "--latency", values.latency]);
const env = { ...sandbox.environment, SIMFLEET_DATA_DIR: dataDir };

interface Cost {
  /** Rows per second. */
  readonly rate: number;
  /** CPU seconds of the whole process per 10,000 rows. */
  readonly cpu: number;
  /** CPU seconds of Redis per 10,000 rows. */
  readonly redisCpu: number;
  /** Peak, in MB. */
  readonly memory: number;
}

async function costOf(
  running: () => ReturnType<typeof runMeasured>,
  secondsIn: (out: string) => number,
): Promise<Cost> {
  const before = await cpuSecondsOfRedis(redis);
  const { out, cpuSeconds, peakMegabytes } = await running();
  const per10k = 10_000 / rows;
  const redisCpu = ((await cpuSecondsOfRedis(redis)) - before) * per10k;
  return { rate: rows / secondsIn(out), cpu: cpuSeconds * per10k, redisCpu, memory: peakMegabytes };
}

function simfleet(connections: number): Promise<Cost> {
  const args = ["apply", file, "--yes", "--json", "--send-unchanged"];
  const connected = { ...env, SIMFLEET_CONNECTIONS: String(connections) };
  return costOf(
    () => runMeasured(args, connected),
    (out) => {
      const { startedAt, finishedAt } = JSON.parse(out) as { startedAt: string; finishedAt: string };
      return (Date.parse(finishedAt) - Date.parse(startedAt)) / 1_000;
    },
  );
}

function peer(kind: "bare" | "bullmq", connections: number): Promise<Cost> {
  const script = fileURLToPath(new URL("row-loop.ts", import.meta.url));
  const address = sandbox.environment.SIMFLEET_ENDPOINT_GLOBAL ?? "";
  const args = [kind, address, file, String(connections), socketPath];
  return costOf(() => runMeasured(args, env, script), Number);
}

const programs = {
  "bare loop": (connections: number) => peer("bare", connections),
  "BullMQ job per row": (connections: number) => peer("bullmq", connections),
  simfleet,
};

const table: Record<string, string | number>[] = [];
try {
  await peer("bare", 64); // warms the sandbox up
  for (const connections of values.connections.split(",").map(Number)) {
    const costs = new Map(Object.keys(programs).map((name) => [name, [] as Cost[]]));
    for (let round = 0; round < Number(values.rounds); round += 1) {
      for (const [name, run] of Object.entries(programs)) costs.get(name)?.push(await run(connections));
    }
    const bare = costs.get("bare loop") ?? [];
    for (const [program, own] of costs) {
      const of = (field: keyof Cost): number => median(own.map((cost) => cost[field]));
      const toBare = (field: keyof Cost): string =>
        median(own.map((cost, i) => cost[field] / (bare[i]?.[field] ?? NaN))).toFixed(2);
      table.push({
        connections,
        program,
        "rows/s": Math.round(of("rate")),
        "of bare": toBare("rate"),
        "CPU s per 10,000": of("cpu").toFixed(2),
        "CPU of bare": toBare("cpu"),
        "Redis CPU s": of("redisCpu").toFixed(2),
        "memory, MB": Math.round(of("memory")),
      });
    }
  }
} finally {
  await sandbox.stop();
  await close();
}
console.log(`${rows} rows, a platform that takes ${values.latency} ms, medians of ${values.rounds} rounds`);
console.table(table);
