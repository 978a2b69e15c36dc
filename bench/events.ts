/**
 * Measures whether events delay a run. One worker with ten automations, whose conditions mostly do not hold, and three
 * webhooks (one fast, one that takes two seconds per message, one dead) works on a run limited by a quota, first
 * without events and then while another process emits 10,000 events a minute. Everything runs in one session on one machine.
 *
 *   npm run bench:events
 *   npm run bench:events -- --rows 950 --per-minute 20000
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { systemClock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import { RedisConnections } from "#redis/connection.ts";
import { EmbeddedRedis } from "#redis/embedded/embedded.ts";
import { Keys } from "#redis/keys.ts";
import { startSandbox } from "#sandbox/server.ts";
import { leastTimeMs } from "./least-time.ts";
import { sampleRows } from "./sample-rows.ts";
import { runSimfleet, startWorker } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: { rows: { type: "string", default: "950" }, "per-minute": { type: "string", default: "10000" } },
});
const rows = Number(values.rows);
const quota = { limit: 200, periodMs: 10_000 };
const latencyMs = [20, 60] as const;
const connections = 32;
/** How long events are emitted before the run starts. */
const leadMs = 10_000;
const conditions = [
  "tags.site=nowhere",
  "speedClass=s1.none",
  "status=lost",
  "groupId=g-none",
  "tags.name=nobody",
  "event.field=status",
  "event.after=nothing",
  "event.by=run",
  "event.field=imsi",
];

interface Receiver {
  readonly server: Server;
  readonly url: string;
  taken: number;
}

async function openReceiver(delayMs: number): Promise<Receiver> {
  const receiver = { taken: 0 };
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      await systemClock.sleep(delayMs);
      receiver.taken += 1;
      response.writeHead(204).end();
    };
    request.resume().once("end", () => void answer());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return Object.assign(receiver, { server, url });
}

function close({ server }: Receiver): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

function configurationOf(urls: Readonly<Record<string, string>>): string {
  const automations = conditions.map((where, i) => `  a${i}: { on: sim.changed, where: "${where}", job: sync }\n`);
  const rare = `  rare: { on: sim.changed, where: event.field=tags.rare, job: report, file: report.json }\n`;
  const webhooks = Object.entries(urls).map(
    ([name, url]) => `  ${name}: { url: "${url}", secretFile: hook-secret, events: [sim.changed, "run.*"] }\n`,
  );
  return `automations:\n${automations.join("")}${rare}webhooks:\n${webhooks.join("")}`;
}

async function startEmitter(dataDir: string, sims: readonly string[]): Promise<{ stop(): Promise<number> }> {
  const script = fileURLToPath(new URL("./emit-events.ts", import.meta.url));
  const args = [script, dataDir, values["per-minute"], ...sims.slice(0, 500)];
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  child.stdout?.on("data", (data: Buffer) => (out += data.toString()));
  await systemClock.sleep(leadMs);
  return {
    stop: async () => {
      const gone = once(child, "close");
      child.kill("SIGTERM");
      await gone;
      return Number(out);
    },
  };
}

/** Number of events that each durable reader of the feed has not processed. */
async function behind(dataDir: string): Promise<Map<string, number>> {
  const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet");
  const embedded = await EmbeddedRedis.attach({ dataDir, cacheDir, path: process.env.PATH ?? "" });
  const opened = new RedisConnections({ embedded });
  const redis = opened.connect("bench");
  const keys = new Keys();
  const bounds = { keepMs: 86_400_000, most: 1_000_000 };
  const feed = new Feed({ redis, keys, clock: systemClock, bounds });
  const places = Object.entries(await redis.hgetall(keys.feedPlaces()));
  const counts = await Promise.all(
    places.map(async ([name, place]) => [name, (await feed.after(place, 1_000_000)).events.length] as const),
  );
  await opened.close();
  await embedded.close();
  return new Map(counts);
}

async function megabytes(pid: number): Promise<{ now: number; peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const of = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1_024;
  return { now: of("VmRSS"), peak: of("VmHWM") };
}

async function measure(load: "quiet" | "busy"): Promise<Record<string, string | number>> {
  const folder = await mkdtemp(join(tmpdir(), "simfleet-bench-"));
  const { csv, simIds } = sampleRows(rows);
  const [good, slow, dead] = [await openReceiver(0), await openReceiver(2_000), await openReceiver(0)];
  await close(dead);
  const file = join(folder, "fleet.csv");
  await writeFile(file, csv);
  await writeFile(join(folder, "hook-secret"), `whsec_${Buffer.alloc(24, 7).toString("base64")}`, { mode: 0o600 });
  const configuration = configurationOf({ good: good.url, slow: slow.url, dead: dead.url })
    .replaceAll("hook-secret", join(folder, "hook-secret"))
    .replaceAll("report.json", join(folder, "report.json"));
  await writeFile(join(folder, "simfleet.yaml"), configuration);
  const dataDir = join(folder, "data");
  const sandbox = await startSandbox({
    port: 0,
    simIds,
    limits: {
      Sim: quota.limit,
      Credential: 60,
      Auth: 1e3,
    },
    periodSeconds: quota.periodMs / 1e3,
    latencyMs: [...latencyMs],
  });
  const startedMs = systemClock.monotonicMs();
  const env = {
    SIMFLEET_CONFIG: join(folder, "simfleet.yaml"),
    SIMFLEET_COVERAGE: "g",
    SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
    SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
    SIMFLEET_AUTH_KEY: sandbox.options.authKey,
    SIMFLEET_RATE_PERIOD_SECONDS: String(quota.periodMs / 1_000),
    SIMFLEET_CONNECTIONS: String(connections),
    SIMFLEET_DATA_DIR: dataDir,
    SIMFLEET_HTTP_PORT: "0",
  };
  const worker = await startWorker(env);
  try {
    // The fleet is synced, so that conditions are evaluated against SIMs.
    await runSimfleet(["sims", "sync"], env);
    const emitter = load === "busy" ? await startEmitter(dataDir, simIds) : undefined;
    const intoWindowMs = (systemClock.monotonicMs() - startedMs) % quota.periodMs;
    await systemClock.sleep((quota.periodMs + 4_300 - intoWindowMs) % quota.periodMs);
    const report = JSON.parse(await runSimfleet(["apply", file, "--yes", "--json"], env)) as {
      startedAt: string;
      finishedAt: string;
      throttled: number;
      counts: { done: number };
    };
    const left = await behind(dataDir);
    const memory = await megabytes(worker.child.pid ?? 0);
    const reported = (await emitter?.stop()) ?? 0;
    if (report.counts.done !== rows) throw new Error(`only ${report.counts.done} of ${rows} rows are done`);
    const beginMs = Date.parse(report.startedAt) - (systemClock.wallMs() - systemClock.monotonicMs());
    const runMs = Date.parse(report.finishedAt) - Date.parse(report.startedAt);
    const windows = { periodMs: quota.periodMs, perWindow: quota.limit, beginAfterStartMs: beginMs - startedMs };
    const leastMs = leastTimeMs(rows, windows, { meanLatencyMs: (latencyMs[0] + latencyMs[1]) / 2, connections });
    const automations = [...left].filter(([name]) => name.startsWith("automation-")).map(([, count]) => count);
    return {
      "events emitted": reported,
      "run s": (runMs / 1_000).toFixed(2),
      "least / run": (leastMs / runMs).toFixed(3),
      "answers of 429": report.throttled,
      "automations behind": `${Math.min(...automations)} to ${Math.max(...automations)}`,
      "deliveries behind": left.get("deliveries") ?? "?",
      "taken good": good.taken,
      "taken slow": slow.taken,
      "worker MB": `${Math.round(memory.now)} (peak ${Math.round(memory.peak)})`,
    };
  } finally {
    await worker.stop();
    await Promise.all([close(good), close(slow), sandbox.close()]);
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }); // its Redis is still shutting down
  }
}

const table = { quiet: await measure("quiet"), busy: await measure("busy") };
console.log(
  `${rows} rows at ${quota.limit} calls per ${quota.periodMs / 1_000} s; emitted: ${values["per-minute"]} events a minute from ${leadMs / 1_000} s before; behind: events at the end of the run`,
);
console.table(table);
