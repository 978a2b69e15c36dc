/**
 * Quota utilization: the duration of a run compared with the minimum that its windows allow, and the number of 429
 * responses. The platform is a sandbox in this process; the work is done by real simfleet processes from dist/.
 *
 *   npm run bench                      one process and four; 950 rows, and 1,000, which fill each window to its end
 *   npm run bench -- --rounding down   another way of rounding seconds-before-refresh
 *   npm run bench -- --competitor 5    next to another caller that spends 5 calls per second
 *   npm run bench -- --peers           simfleet's limiter next to others, all cells, five rounds; about 40 minutes
 *   npm run bench -- --peers --write   the same, kept for `npm run docs`; of chosen cells or limiters, what was written
 *                                      of the others stays
 *   npm run bench -- --peers --rounds 1 --cells "windows of 1 s,4 processes" --limiters "simfleet,Bottleneck"
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "#core/time.ts";
import { startSandbox } from "#sandbox/server.ts";
import { minTimeMs } from "./min-time.ts";
import { comparePeers } from "./peers/compare.ts";
import { sampleRows } from "./sample-rows.ts";
import { type SimfleetProcess, runSimfleet, startWorker } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "950,1000" },
    limit: { type: "string", default: "200" },
    period: { type: "string", default: "10" },
    offset: { type: "string", default: "5" },
    rounding: { type: "string", default: "up" },
    processes: { type: "string", default: "1,4" },
    competitor: { type: "string", default: "0" },
    connections: { type: "string", default: "32" },
    peers: { type: "boolean", default: false },
    rounds: { type: "string", default: "5" },
    cells: { type: "string" },
    limiters: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const limit = Number(values.limit);
const periodMs = Number(values.period) * 1_000;
const latencyMs = [20, 60] as const;
const meanLatencyMs = (latencyMs[0] + latencyMs[1]) / 2;

interface Result {
  readonly rows: number;
  readonly processes: number;
  readonly seconds: number;
  readonly minSeconds: number;
  readonly ratio: number;
  readonly throttled: number;
  readonly windows: string;
}

async function measure(rows: number, processes: number): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "simfleet-bench-"));
  const { csv, simIds } = sampleRows(rows);
  const file = join(folder, "fleet.csv");
  await writeFile(file, csv);
  // Workers start before the sandbox, so that the run starts at the intended point of the window.
  const sandbox = await startSandbox({
    port: 0,
    simIds,
    limits: { Sim: limit, Credential: 60, Auth: 1_000 },
    periodSeconds: periodMs / 1_000,
    rounding: values.rounding as "up" | "down" | "nearest",
    latencyMs: [...latencyMs],
    competitor: Number(values.competitor) > 0 ? { Sim: Number(values.competitor) } : {},
  });
  const startedMs = systemClock.monotonicMs();
  const env = {
    SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
    SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
    SIMFLEET_AUTH_KEY: sandbox.options.authKey,
    SIMFLEET_RATE_PERIOD_SECONDS: String(periodMs / 1_000),
    SIMFLEET_CONNECTIONS: values.connections,
    SIMFLEET_DATA_DIR: join(folder, "data"),
    SIMFLEET_HTTP_PORT: "0",
  };
  const workers: SimfleetProcess[] = [];
  try {
    for (let i = 0; i < processes; i += 1) workers.push(await startWorker(env));
    const intoWindowMs = (systemClock.monotonicMs() - startedMs) % periodMs;
    const waitMs = (Number(values.offset) * 1_000 - 700 - intoWindowMs + 2 * periodMs) % periodMs;
    await systemClock.sleep(waitMs);
    const report = JSON.parse(await runSimfleet(["apply", file, "--yes", "--json", "--send-unchanged"], env)) as {
      startedAt: string;
      finishedAt: string;
      throttled: number;
      counts: { done: number };
    };
    if (report.counts.done !== rows) throw new Error(`only ${report.counts.done} of ${rows} rows are done`);
    const offsetMs = systemClock.wallMs() - systemClock.monotonicMs();
    const beginMs = Date.parse(report.startedAt) - offsetMs;
    const endMs = Date.parse(report.finishedAt) - offsetMs;
    const windows = sandbox.throttle.windows("Sim");
    const steady = windows.reduce((sum, window) => sum + window.competitor, 0) / Math.max(1, windows.length);
    const perWindow = limit - Math.round(steady);
    const call = { meanLatencyMs, connections: Number(values.connections) };
    const minMs = minTimeMs(rows, { periodMs, perWindow, beginAfterStartMs: beginMs - startedMs }, call);
    const seconds = (endMs - beginMs) / 1_000;
    return {
      rows,
      processes,
      seconds,
      minSeconds: minMs / 1_000,
      ratio: minMs / (endMs - beginMs),
      throttled: sandbox.state.totals.throttled,
      windows: windows
        .filter(({ accepted }) => accepted > 0)
        .map(({ accepted }) => accepted)
        .join(" "),
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await sandbox.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }); // its Redis is still shutting down
  }
}

async function measureAll(): Promise<void> {
  const results: Result[] = [];
  for (const rows of values.rows.split(",").map(Number)) {
    for (const processes of values.processes.split(",").map(Number)) results.push(await measure(rows, processes));
  }
  console.log(
    `${limit} calls per ${periodMs / 1_000} s, rounding ${values.rounding}, latency ${latencyMs.join(" to ")} ms`,
  );
  console.table(
    results.map(({ rows, processes, seconds, minSeconds, ratio, throttled, windows }) => ({
      rows,
      processes,
      "run s": seconds.toFixed(2),
      "min s": minSeconds.toFixed(2),
      "min / run": ratio.toFixed(3),
      "answers of 429": throttled,
      "calls per window": windows,
    })),
  );
}

await (values.peers ? comparePeers(values) : measureAll());
