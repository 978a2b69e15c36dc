/**
 * One change per row by four ways, each against a sandbox of its own with the same quota: a loop, a loop that waits after a
 * 429, a BullMQ job per row with BullMQ's limiter, and simfleet. docs/comparison.md shows the figures.
 *
 *   npm run bench:comparison
 *   npm run bench:comparison -- --rows 500 --competitor 5
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Queue, QueueEvents, Worker } from "bullmq";
import { Agent, request } from "undici";
import { systemClock } from "#core/time.ts";
import { EmbeddedRedis } from "#redis/embedded/embedded.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { sampleRows } from "./sample-rows.ts";
import { runSimfleet } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "500" },
    limit: { type: "string", default: "200" },
    period: { type: "string", default: "10" },
    competitor: { type: "string", default: "0,5" },
  },
});
const rows = Number(values.rows);
const limit = Number(values.limit);
const periodMs = Number(values.period) * 1_000;
const connections = 32;
const { csv, simIds } = sampleRows(rows);
const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet");

/** What a way has to work with. */
interface Setup {
  readonly sandbox: Sandbox;
  readonly folder: string;
}

/** Sends one change; true if the platform accepted it. */
type Change = (simId: string) => Promise<boolean>;

async function changeOf({ sandbox: { url, options } }: Setup): Promise<Change> {
  const dispatcher = new Agent({ connections, pipelining: 1 });
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    request(`${url}/v1/${path}`, {
      dispatcher,
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const { authKeyId, authKey } = options;
  const pair = (await (await post("auth", { authKeyId, authKey })).body.json()) as { apiKey: string; token: string };
  const headers = { "x-svc-api-key": pair.apiKey, "x-svc-token": pair.token };
  return async (simId) => {
    const { statusCode, body } = await post(`sims/${simId}/update_speed_class`, { speedClass: "s1.fast" }, headers);
    await body.dump();
    return statusCode === 200;
  };
}

/** A loop over the file, as in a shell: a row that fails is lost. */
async function loop(setup: Setup): Promise<void> {
  const change = await changeOf(setup);
  for (const simId of simIds) await change(simId);
}

/** The same, with the usual repair: wait and send the row again. */
async function patientLoop(setup: Setup): Promise<void> {
  const change = await changeOf(setup);
  for (const simId of simIds) while (!(await change(simId))) await systemClock.sleep(periodMs);
}

/** A job per row with the limit that the platform has; a 429 is tried again a window later, four times. */
async function jobPerRow(setup: Setup): Promise<void> {
  const change = await changeOf(setup);
  const dataDir = join(setup.folder, "bullmq");
  const embedded = await EmbeddedRedis.attach({ dataDir, cacheDir, path: process.env.PATH ?? "" });
  const connection = { path: embedded.socketPath, maxRetriesPerRequest: null };
  const events = new QueueEvents("rows", { connection });
  await events.waitUntilReady();
  const queue = new Queue<{ simId: string }>("rows", { connection });
  const opts = { attempts: 5, backoff: { type: "fixed", delay: periodMs } };
  let open = rows;
  const ended = new Promise<void>((resolve) => {
    const count = (): void => {
      open -= 1;
      if (open === 0) resolve();
    };
    events.on("completed", count).on("failed", count);
  });
  await queue.addBulk(simIds.map((simId) => ({ name: "row", data: { simId }, opts })));
  const worker = new Worker<{ simId: string }>(
    "rows",
    async ({ data }) => {
      if (!(await change(data.simId))) throw new Error("429");
    },
    { connection, concurrency: connections, limiter: { max: limit, duration: periodMs } },
  );
  worker.on("error", () => undefined);
  await ended;
  await Promise.all([worker.close(), queue.close(), events.close()]);
  await embedded.close();
}

async function simfleet({ sandbox, folder }: Setup): Promise<void> {
  const file = join(folder, "fleet.csv");
  await writeFile(file, csv);
  await runSimfleet(["apply", file, "--yes", "--json"], {
    SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
    SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
    SIMFLEET_AUTH_KEY: sandbox.options.authKey,
    SIMFLEET_RATE_PERIOD_SECONDS: String(periodMs / 1_000),
    SIMFLEET_DATA_DIR: join(folder, "data"),
  });
}

const ways = { loop, "loop that waits": patientLoop, "BullMQ job per row": jobPerRow, simfleet };

for (const competitor of values.competitor.split(",").map(Number)) {
  const results: Record<string, object> = {};
  for (const [name, way] of Object.entries(ways)) {
    const folder = await mkdtemp(join(tmpdir(), "simfleet-bench-"));
    const sandbox = await startSandbox({
      port: 0,
      simIds,
      limits: { Sim: limit, Credential: 60, Auth: 1_000 },
      periodSeconds: periodMs / 1_000,
      latencyMs: [20, 60],
      competitor: competitor > 0 ? { Sim: competitor } : {},
    });
    const startedMs = systemClock.monotonicMs();
    try {
      await way({ sandbox, folder });
      const seconds = (systemClock.monotonicMs() - startedMs) / 1_000;
      const { sims, totals } = sandbox.state;
      const done = simIds.filter((_, n) => sims.acceptedAt(n) > 0).length;
      results[name] = {
        "rows done": done,
        "rows lost": rows - done,
        "answers of 429": totals.throttled,
        seconds: seconds.toFixed(1),
      };
    } finally {
      await sandbox.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
    }
  }
  console.log(`${rows} rows, ${limit} calls per ${periodMs / 1_000} s, another caller sends ${competitor} per second`);
  console.table(results);
}
