/**
 * Measures the inventory's guarantees: the speed of a sync compared with a bare loop over the same pages, alternating
 * on the same sandbox (a separate process); the memory of sync, export and plan from a thousand SIMs up; bytes of Redis
 * per SIM; the duration of filters.
 *
 *   npm run bench:inventory
 *   npm run bench:inventory -- --sims 100000 --only a,d --rounds 5
 *
 * a: sync and bare loop   b: memory of sync and export   c: Redis per SIM   d: filters   e: plans
 * f: usage of all SIMs, and a filter by it
 *
 * `--sims` is the size of the fleet in c, d and f, and the largest in b and e; a reads `--pages-of` SIMs, in pages of
 * `--limits`, from a platform that responds after `--latency` ms: with 0, only the work of the two is compared.
 */
import { open, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import { App } from "#kernel/app.ts";
import { features } from "#features.ts";
import { inventory } from "#jobs/inventory/feature.ts";
import { sectionsOf } from "#config/feature-section.ts";
import { loadConfig } from "#config/load.ts";
import { systemClock } from "#core/time.ts";
import { parseFilter } from "#fleet/filter.ts";
import { secretFields, usualFields } from "#fleet/sim/sim-fields.ts";
import { Keys } from "#redis/keys.ts";
import { defaultOptions } from "#sandbox/options.ts";
import { Sims } from "#sandbox/sims/sims.ts";
import { documentOfSim, exportLines, newestPage } from "#jobs/inventory/sims.ts";
import { encodeRecord } from "#jobs/inventory/records/sim-record.ts";
import { type ListedSims, SyncLog } from "#jobs/inventory/store/sync-record.ts";
import { createLogger } from "#telemetry/logger.ts";
import { inventoryKeys } from "#jobs/inventory/store/keys.ts";
import { bytesOfKeys, cpuSecondsOf, cpuSecondsOfRedis, runMeasured, usedMemory } from "./memory.ts";
import { startOwnRedis } from "./own-redis.ts";
import { startSandboxProcess } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: {
    sims: { type: "string", default: "1000000" },
    only: { type: "string", default: "a,b,c,d,e,f" },
    rounds: { type: "string", default: "3" },
    "pages-of": { type: "string", default: "100000" },
    limits: { type: "string", default: "1000,100" },
    latency: { type: "string", default: "0" },
  },
});
const max = Number(values.sims);
const rounds = Array.from({ length: Number(values.rounds) }, (_, i) => i);
const parts = new Set(values.only.split(","));
/** Whether filters on a time are measured as well: without part c, whose figures are for the usual fields. */
const hasTimes = parts.has("d") && !parts.has("c");
const sizes = [1_000, 10_000, 100_000, 1_000_000].filter((size) => size < max).concat(max);

const { folder, dataDir, redis, close } = await startOwnRedis();
const keys = new Keys();

type Environment = Record<string, string>;
type Table = Record<string, string | number>[];

/** Runs a sandbox with this many SIMs for the duration of `use`, and passes the settings that reach it. */
async function withFleet(
  { sims, profile, latencyMs = "0" }: { sims: number; profile: string; latencyMs?: string },
  use: (env: Environment, sandboxPid: number) => Promise<void>,
): Promise<void> {
  const quota = ["--operations", "all", "--limit", "Sim=1000000000", "--limit", "Auth=1000000"];
  const sandbox = await startSandboxProcess(["--sims", String(sims), "--latency", latencyMs, ...quota]);
  try {
    const { environment } = sandbox;
    const settings = {
      SIMFLEET_DATA_DIR: dataDir,
      SIMFLEET_PROFILE: profile,
      SIMFLEET_INVENTORY_LIMIT: "1000",
      ...(hasTimes ? { SIMFLEET_INVENTORY_FIELDS: [...usualFields, "createdTime"].join(",") } : {}),
    };
    await use({ ...environment, ...settings }, sandbox.child.pid ?? 0);
  } finally {
    await sandbox.stop();
  }
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startMs = systemClock.monotonicMs();
  await work();
  return (systemClock.monotonicMs() - startMs) / 1_000;
}

/** A loop that only follows and parses the pages, in this process. */
async function bareLoop(env: Environment, sims: number, limit: number): Promise<{ seconds: number; cpu: number }> {
  const dispatcher = new Agent({ connections: 1, pipelining: 1 });
  const url = env.SIMFLEET_ENDPOINT_GLOBAL ?? "";
  const answer = await request(`${url}/v1/auth`, {
    dispatcher,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ authKeyId: env.SIMFLEET_AUTH_KEY_ID, authKey: env.SIMFLEET_AUTH_KEY }),
  });
  const pair = (await answer.body.json()) as { apiKey: string; token: string };
  const headers = { "x-svc-api-key": pair.apiKey, "x-svc-token": pair.token };
  let listed = 0;
  const before = process.cpuUsage();
  const seconds = await secondsOf(async () => {
    let key: string | undefined;
    do {
      const from = key === undefined ? "" : `&last_evaluated_key=${encodeURIComponent(key)}`;
      const page = await request(`${url}/v1/sims?limit=${limit}${from}`, { dispatcher, headers });
      if (page.statusCode !== 200) throw new Error(`status ${page.statusCode}`);
      listed += ((await page.body.json()) as unknown[]).length;
      const next = page.headers["x-svc-next-key"];
      key = typeof next === "string" ? next : undefined;
    } while (key !== undefined);
  });
  const { user, system } = process.cpuUsage(before);
  await dispatcher.close();
  if (listed !== sims) throw new Error(`the bare loop listed ${listed} of ${sims}`);
  return { seconds, cpu: (user + system) / 1e6 };
}

interface SyncFigures {
  readonly seconds: number;
  readonly wallSeconds: number;
  readonly peakMegabytes: number;
  /** CPU time of the command, including its start. */
  readonly cpu: number;
}

async function syncOnce(env: Environment, sims: number): Promise<SyncFigures> {
  const startMs = systemClock.monotonicMs();
  const { out, peakMegabytes, cpuSeconds: cpu } = await runMeasured(["sims", "sync", "--json"], env);
  const wallSeconds = (systemClock.monotonicMs() - startMs) / 1_000;
  const report = JSON.parse(out) as { sims: number; seconds: number };
  if (report.sims !== sims) throw new Error(`the sync listed ${report.sims} of ${sims}`);
  return { seconds: report.seconds, wallSeconds, peakMegabytes, cpu };
}

async function compareSpeed(): Promise<void> {
  const sims = Number(values["pages-of"]);
  const table: Table = [];
  const micros = (seconds: number): string => ((seconds * 1e6) / sims).toFixed(1);
  await withFleet({ sims, profile: "a", latencyMs: values.latency }, async (base, sandboxPid) => {
    await bareLoop(base, sims, 1_000); // warms the sandbox up
    const start = await runMeasured(["sims", "list", "--where", "simId=0", "--json"], base);
    for (const limit of values.limits.split(",").map(Number)) {
      for (const _ of rounds) {
        const env = { ...base, SIMFLEET_INVENTORY_LIMIT: String(limit) };
        for (const sync of ["all are new", "nothing changed"]) {
          const bare = await bareLoop(env, sims, limit);
          const before = { redis: await cpuSecondsOfRedis(redis), sandbox: await cpuSecondsOf(sandboxPid) };
          const { seconds, cpu } = await syncOnce(env, sims);
          table.push({
            "page of": limit,
            sync,
            "bare loop SIMs/s": Math.round(sims / bare.seconds),
            "simfleet SIMs/s": Math.round(sims / seconds),
            ratio: (bare.seconds / seconds).toFixed(2),
            "CPU µs/SIM: bare loop": micros(bare.cpu),
            simfleet: micros(cpu - start.cpuSeconds),
            Redis: micros((await cpuSecondsOfRedis(redis)) - before.redis),
            sandbox: micros((await cpuSecondsOf(sandboxPid)) - before.sandbox),
          });
        }
        await forget();
      }
    }
    console.log(`(a command that finds nothing takes ${start.cpuSeconds.toFixed(2)} s of processor time)`);
  });
  show(`a: ${sims} SIMs, answers after ${values.latency} ms`, table);
}

/** Deletes a part's inventory so that it does not affect the next; synchronously, since what remains is measured. */
async function forget(): Promise<void> {
  await redis.flushall("SYNC");
}

/** Syncs a fleet of each size and takes the requested measurements. */
async function measureSizes(): Promise<void> {
  const tables: Record<"b" | "c" | "d" | "e" | "f", Table> = { b: [], c: [], d: [], e: [], f: [] };
  for (const sims of parts.has("b") || parts.has("e") ? sizes : [max]) {
    await withFleet({ sims, profile: `s-${sims}` }, async (env) => {
      const before = await usedMemory(redis);
      const first = await syncOnce(env, sims);
      if (parts.has("b")) tables.b.push(await memoryRow(env, sims, first));
      if (sims === max && parts.has("c")) {
        tables.c.push(await bytesRow("a fleet of the sandbox", `s-${sims}`, { before, sims }));
      }
      if (sims === max && parts.has("d")) tables.d.push(...(await filterRows(env, sims)));
      if (sims === max && parts.has("f")) tables.f.push(await usageRow(env));
      if (sims >= Math.min(100_000, max) && parts.has("e")) tables.e.push(await planRow(env, sims));
    });
    await forget();
  }
  if (parts.has("c")) tables.c.push(await fullestRecords());
  show("b: peak memory, MB", tables.b);
  show("c: bytes of Redis per SIM", tables.c);
  show(`d: time of a filter among ${max} SIMs`, tables.d);
  show("e: plan of a file", tables.e);
  show(`f: usage of ${max} SIMs`, tables.f);
}

function show(title: string, table: Table): void {
  if (table.length === 0) return;
  console.log(title);
  console.table(table);
}

async function memoryRow(env: Environment, sims: number, first: SyncFigures): Promise<Table[number]> {
  const again = await syncOnce(env, sims);
  const exported = (format: string) =>
    runMeasured(["sims", "export", "--format", format, "--out", join(folder, "fleet.out")], env);
  return {
    SIMs: sims,
    "first sync": first.peakMegabytes.toFixed(0),
    "second sync": again.peakMegabytes.toFixed(0),
    "export csv": (await exported("csv")).peakMegabytes.toFixed(0),
    "export ndjson": (await exported("ndjson")).peakMegabytes.toFixed(0),
    "first sync s": first.seconds.toFixed(1),
    "second sync s": again.seconds.toFixed(1),
  };
}

async function usageRow(env: Environment): Promise<Table[number]> {
  const deployment = join(folder, "usage.yaml");
  await writeFile(deployment, "extends: soracom\nbrand: Svc\ndownloads: { hosts: [127.0.0.1] }\n");
  const settings = { ...env, SIMFLEET_DEPLOYMENT: deployment };
  const startMs = systemClock.monotonicMs();
  const { out, peakMegabytes } = await runMeasured(["sims", "sync", "--usage", "--json"], settings);
  const seconds = (systemClock.monotonicMs() - startMs) / 1_000;
  const { calls, sims } = JSON.parse(out) as { calls: number; sims: number };
  const count = ["sims", "count", "--where", "usage.month=0", "--json"];
  const filter = await secondsOf(() => runMeasured(count, settings));
  return { "SIMs with usage": sims, calls, seconds, "peak MB": peakMegabytes, "filter s": filter };
}

async function bytesRow(
  records: string,
  profile: string,
  { before, sims }: { before: number; sims: number },
): Promise<Table[number]> {
  const grown = ((await usedMemory(redis)) - before) / sims;
  const ofKeys = (await bytesOfKeys(redis, `${inventoryKeys(keys).records(profile)}*`)) / sims;
  const ofRecords = ((await redis.memory("USAGE", inventoryKeys(keys).records(profile), "SAMPLES", 0)) ?? 0) / sims;
  return {
    records,
    SIMs: sims,
    "used_memory grew by": grown.toFixed(0),
    "MEMORY USAGE of all keys": ofKeys.toFixed(0),
    "of it records": ofRecords.toFixed(0),
  };
}

/**
 * The sandbox's records with every optional field: a group for each SIM, with the length of a UUID, and a subscription.
 */
async function fullestRecords(): Promise<Table[number]> {
  const fleet = sandboxFleet(max);
  const syncs = new SyncLog({ redis, keys, bounds: { keepMs: 1, maxEvents: 1_000 } });
  const selection = { fields: usualFields.slice(1), secrets: new Set(secretFields), places: {} };
  const before = await usedMemory(redis);
  const profile = "c";
  const { syncId } = await syncs.begin(profile, "s-bench", "restart");
  const page = 1_000;
  for (let pagesBefore = 0; pagesBefore * page < max; pagesBefore += 1) {
    const from = pagesBefore * page;
    const records = Array.from({ length: Math.min(page, max - from) }, (_, i) => {
      const groupId = `3f6c1d52-9a41-4d0e-b7c3-${String((from + i) % 50).padStart(12, "0")}`;
      return { ...fleet.recordAt(from + i), groupId, subscription: "plan01s-ldv" };
    });
    const sims: ListedSims = {
      keys: records.map(({ simId }) => simId),
      linesOf: (place) => encodeRecord(records[place] ?? {}, selection),
    };
    const nextKey = from + page < max ? "more" : undefined;
    await syncs.takePage(profile, { syncId, pagesBefore, sims, nextKey, asOfMs: 0, quiet: [] });
  }
  const state = await syncs.state(profile);
  if (state?.sims !== max) throw new Error(`the sync took ${state?.sims} of ${max}`);
  await syncs.sweep(profile, state, selection.fields);
  const row = await bytesRow("group of 36 characters and subscription each", profile, { before, sims: max });
  await forget();
  return row;
}

/** The SIMs that a sandbox generates for `--sims`. */
function sandboxFleet(sims: number): Sims {
  return new Sims({ ...defaultOptions, clock: systemClock, sims, simIds: undefined });
}

async function filterRows(env: Environment, sims: number): Promise<Table> {
  const fleet = sandboxFleet(sims);
  const one = Math.floor(sims / 3);
  const texts = [
    "speedClass=s1.fast",
    "speedClass=s1.fast and tags.site=berlin and groupId=91e5bb07-meters and status=standby",
    `tags.name=sim-${one}`,
    "tags.site=nowhere",
    "status!=active",
    "status!=active and status!=ready and status!=inactive and status!=standby and status!=suspended",
    "speedClass exists and speedClass=s1.none",
    "tags.site in (oslo, paris, rome)",
    "tags.site in (berlin, osaka) and status in (standby, inactive)",
    "groupId not exists",
    "tags.name not exists",
    "tags.site!=berlin and tags.site!=osaka and tags.site!=london and tags.site!=paris",
    `imsi=${fleet.imsiAt(one)}`,
    `simId=${fleet.simIdAt(one)}`,
    "status=active and (tags.site=berlin or tags.site=osaka)",
    "not (status=active or tags.site^=o) and speedClass^=s1.",
    "not (tags.site exists and (speedClass=s1.fast or status!=ready))",
    `simId^=${fleet.simIdAt(one).slice(0, -2)}`,
    `status=standby and imsi^=${fleet.imsiAt(one).slice(0, -2)}`,
    `imsi^=${fleet.imsiAt(one).slice(0, -2)}`,
    `imsi>=${fleet.imsiAt(one)} and imsi<${fleet.imsiAt(one + 100)}`,
    `speedClass=s1.none or not (imsi!=${fleet.imsiAt(one)})`,
    ...(hasTimes
      ? [
          "createdTime<2000-01-01",
          "status=standby and createdTime<2000-01-01",
          "createdTime>0s ago or tags.site=nowhere",
        ]
      : []),
  ];
  const table: Table = [];
  const config = loadConfig({ env, sections: await sectionsOf(features) });
  const app = await App.open(config, {
    features,
    env: { ...env, HOME: homedir(), PATH: process.env.PATH },
    logger: createLogger({ level: "silent", destination: process.stderr }),
  });
  const { store } = app.service(inventory);
  const { profile } = config;
  const listed = { presence: "listed", keyColumn: "simId" } as const;
  try {
    const facts = await store.facts(profile);
    for (const text of texts) {
      const filter = parseFilter(text);
      const times: number[] = [];
      let found = 0;
      for (const _ of rounds) {
        times.push(
          1_000 *
            (await secondsOf(async () => {
              found = (await newestPage(store, { profile, ...listed, filter }, { limit: 50 })).found.length;
            })),
        );
      }
      const all = await secondsOf(async () => {
        const documents = shownOf(store.scan(profile, filter, listed), (sim) =>
          documentOfSim(sim, { ...listed, facts }),
        );
        for await (const lines of exportLines(documents, { format: "ndjson", columns: [] })) void lines;
      });
      const command = await secondsOf(() => runMeasured(["sims", "list", "--where", text, "--json"], env));
      table.push({
        filter: text,
        found: found === 50 ? "50 of more" : found,
        "page ms": range(times, 0),
        "all matches s": all.toFixed(2),
        "command s": command.toFixed(2),
      });
    }
    const start = await secondsOf(() => runMeasured(["sims", "list", "--where", "simId=0", "--json"], env));
    table.push({ filter: "(a command that finds nothing)", found: 0, "command s": start.toFixed(2) });
  } finally {
    await app.close();
  }
  return table;
}

function range(figures: readonly number[], digits: number): string {
  return `${Math.min(...figures).toFixed(digits)} to ${Math.max(...figures).toFixed(digits)}`;
}

async function planRow(env: Environment, sims: number): Promise<Table[number]> {
  const fleet = sandboxFleet(sims);
  const path = join(folder, "plan.csv");
  const file = await open(path, "w");
  await file.write("simId,speedClass,asset\n");
  for (let from = 0; from < sims; from += 1_000) {
    const length = Math.min(1_000, sims - from);
    const line = (_: unknown, i: number): string =>
      `${fleet.simIdAt(from + i)},${(from + i) % 2 === 0 ? "s1.slow" : "s1.fast"},asset-${from + i}\n`;
    await file.write(Array.from({ length }, line).join(""));
  }
  await file.close();
  const times: number[] = [];
  const peaks: number[] = [];
  for (const _ of rounds) {
    times.push(
      await secondsOf(async () => {
        peaks.push((await runMeasured(["plan", path, "--json"], env)).peakMegabytes);
      }),
    );
  }
  return { "rows and SIMs": sims, "command s": range(times, 1), "peak memory, MB": range(peaks, 0) };
}

try {
  if (parts.has("a")) await compareSpeed();
  if (["b", "c", "d", "e", "f"].some((part) => parts.has(part))) await measureSizes();
} finally {
  await close();
}

async function* shownOf<T, Shown>(
  batches: AsyncIterable<readonly T[]>,
  document: (one: T) => Shown,
): AsyncGenerator<Shown[]> {
  for await (const batch of batches) yield batch.map(document);
}
