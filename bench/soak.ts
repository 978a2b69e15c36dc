/**
 * Continuous load on one worker: runs one after the other, a sync every minute, open event streams, and a dashboard that is
 * open (in Chromium where there is one). Memory, open files, Redis's memory and CPU time are sampled; after the first quarter
 * they have to stay flat: the median of the last quarter is at most 10 % above that of the second.
 *
 *   npm run bench:soak
 *   npm run bench:soak -- --minutes 10 --plot soak.svg
 */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { type ClientRequest, request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { chromium } from "playwright-core";
import { type Sample, median, plot } from "./soak-plot.ts";
import { sampleRows } from "./sample-rows.ts";
import { startSandboxProcess, startWorker } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    streams: { type: "string", default: "20" },
    plot: { type: "string" },
  },
});
const soakMs = Number(values.minutes) * 60_000;
const sampleEveryMs = Math.max(1_000, soakMs / 360);
const rowsPerRun = 600;
const sims = 3_000;
const token = `sf_bench-${"x".repeat(32)}`;
const browserPath = "/usr/bin/chromium";
const allowedGrowth = 1.1;

const folder = await mkdtemp(join(tmpdir(), "simfleet-soak-"));
const { csv, simIds } = sampleRows(sims);
await writeFile(join(folder, "fleet.csv"), csv);
const sandbox = await startSandboxProcess([
  "--ids-from",
  join(folder, "fleet.csv"),
  "--limit",
  "Sim=3000",
  "--period",
  "10",
]);
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const worker = await startWorker({
  ...sandbox.environment,
  SIMFLEET_RATE_PERIOD_SECONDS: "10",
  SIMFLEET_DATA_DIR: join(folder, "data"),
  SIMFLEET_HTTP_PORT: String(port),
  SIMFLEET_HTTP_ADMIN_TOKEN: token,
  SIMFLEET_HTTP_REQUESTS_PER_MINUTE: "100000",
  // What an hour would not remove is kept for a twelfth of the soak.
  SIMFLEET_RETENTION_ROW_DAYS: String(Math.max(0.01, soakMs / 12 / 86_400_000)),
  SIMFLEET_RETENTION_RUN_DAYS: String(Math.max(0.01, soakMs / 12 / 86_400_000)),
  SIMFLEET_EVENTS_MOST: "20000",
});
const pid = worker.child.pid ?? 0;
const redis = new Redis({ path: join(folder, "data", "redis", "redis.sock") });
const open: ClientRequest[] = [];
const samples: Sample[] = [];
const counts = { runs: 0, syncs: 0, events: 0, overloaded: 0 };
const stopping = new AbortController();
const browser = existsSync(browserPath)
  ? await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] })
  : undefined;
try {
  for (let i = 0; i < Number(values.streams); i += 1) openStream();
  const page = await browser?.newPage();
  await page?.addInitScript(`sessionStorage.setItem("simfleet.token", ${JSON.stringify(token)});`);
  await page?.goto(url);
  const load = Promise.all([runs(), syncs()]);
  await Promise.race([sampleUntilEnd(), load]); // a load that fails ends the soak
  stopping.abort();
  await load;
} finally {
  stopping.abort();
  for (const stream of open) stream.destroy();
  await browser?.close();
  redis.disconnect();
  await worker.stop();
  await sandbox.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
}
const quarters = [1, 2, 3].map((n) => samples.slice((n * samples.length) / 4, ((n + 1) * samples.length) / 4));
const measures = ["workerMb", "openFiles", "redisMb", "cpuPercent"] as const;
console.log(
  `${values.minutes} minutes: ${counts.runs} runs of ${rowsPerRun} rows, ${counts.syncs} syncs of ${sims} SIMs,`,
);
console.log(
  `${values.streams} event streams with ${counts.events} events, dashboard ${browser ? "open in Chromium" : "not open"}`,
);
if (counts.overloaded > 0) console.log(`${counts.overloaded} requests were repeated after OVERLOADED`);
let isFlat = true;
console.table(
  measures.map((measure) => {
    const [second = 0, third = 0, last = 0] = quarters.map((some) => median(some.map((sample) => sample[measure])));
    const growth = last / second;
    if (growth > allowedGrowth) isFlat = false;
    const shown = [second, third, last].map((value) => value.toFixed(1));
    return {
      measure,
      "second quarter": shown[0],
      "third quarter": shown[1],
      "last quarter": shown[2],
      growth: growth.toFixed(3),
    };
  }),
);
if (values.plot !== undefined) await writeFile(values.plot, plot(samples));
process.exitCode = isFlat ? 0 : 1;

async function sampleUntilEnd(): Promise<void> {
  const beganMs = performance.now();
  let before = await cpuTicks();
  let atMs = beganMs;
  while (performance.now() - beganMs < soakMs) {
    await sleep(sampleEveryMs);
    const [ticks, nowMs] = [await cpuTicks(), performance.now()];
    const info = await redis.info("memory");
    samples.push({
      minute: (nowMs - beganMs) / 60_000,
      workerMb: Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024,
      openFiles: (await readdir(`/proc/${pid}/fd`)).length,
      redisMb: Number(/used_memory:(\d+)/.exec(info)?.[1]) / 1_048_576,
      // The kernel counts a hundred ticks a second.
      cpuPercent: ((ticks - before) * 1_000) / (nowMs - atMs),
    });
    [before, atMs] = [ticks, nowMs];
  }
}

async function cpuTicks(): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).replace(/^.*\) /, "").split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** Starts a run when the one before is over. */
async function runs(): Promise<void> {
  for (let n = 0; !stopping.signal.aborted; n += 1) {
    const first = (n * rowsPerRun) % sims;
    const speedClass = n % 2 === 0 ? "s1.fast" : "s1.slow";
    const lines = Array.from({ length: rowsPerRun }, (_, i) => `${simIds[(first + i) % sims]},${speedClass}\n`);
    const { runId } = (await ask("POST", "/v1/runs", `simId,speedClass\n${lines.join("")}`)) as { runId: string };
    while (!stopping.signal.aborted) {
      const { state } = (await ask("GET", `/v1/runs/${runId}`)) as { state: string };
      if (state === "completed") break;
      await sleep(500);
    }
    counts.runs += 1;
  }
}

async function syncs(): Promise<void> {
  while (!stopping.signal.aborted) {
    await ask("POST", "/v1/syncs");
    counts.syncs += 1;
    await sleep(60_000, undefined, { signal: stopping.signal }).catch(() => undefined);
  }
}

async function ask(method: string, path: string, body?: string): Promise<unknown> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": "text/csv" }) },
    ...(body === undefined ? {} : { body }),
  });
  if (answer.status === 503) {
    // Where other work takes the processor, the worker asks to come back.
    counts.overloaded += 1;
    await sleep(1_000);
    return ask(method, path, body);
  }
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

function openStream(): void {
  const stream = request(`${url}/v1/events`, {
    headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
  });
  stream.on("response", (answer) => {
    answer.on("data", (chunk: Buffer) => {
      counts.events += chunk.toString().split("\nid:").length - 1;
    });
  });
  stream.on("error", () => undefined);
  stream.end();
  open.push(stream);
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port: free } = server.address() as AddressInfo;
      server.close(() => resolve(free));
    });
  });
}
