/**
 * A million rows: time of planning, and of planning and submitting, beside csv-parse alone, in turn, each in a process;
 * peak memory, bytes of Redis per row; with --run also processing, the first summary, and the start of a planned run.
 *
 *   npm run bench:million
 *   npm run bench:million -- --rounds 5
 *   npm run bench:million -- --rows 100000 --run
 *   npm run bench:million -- --operation set-group
 */
import { openAsBlob } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { minuteMs, systemClock } from "#core/time.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { summarizeRun } from "#jobs/runs/results/run-summary.ts";
import { Limiter } from "#limiter/limiter.ts";
import { Keys } from "#redis/keys.ts";
import { bytesOfKeys, peakMegabytesOf, runMeasured, usedMemory } from "./memory.ts";
import { startOwnRedis } from "./own-redis.ts";
import { median } from "./peers/report.ts";
import { sampleRows } from "./sample-rows.ts";
import { runSimfleet, startSandboxProcess, startWorker } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "3" },
    run: { type: "boolean", default: false },
    operation: { type: "string" },
  },
});
const { operation } = values;
const rows = Number(values.rows);
const { folder, dataDir, redis, close } = await startOwnRedis();
const file = join(folder, "fleet.csv");
const { csv } = sampleRows(rows);
const group = "11111111-2222-3333-4444-555555555555";
await writeFile(
  file,
  operation === undefined ? csv : csv.replace("speedClass", "groupId").replaceAll(/,s1\.\w+,/g, `,${group},`),
);
const groups = join(folder, "groups.json");
await writeFile(groups, JSON.stringify([{ groupId: group }]));
const unlimited = ["--limit", "Sim=1000000000", "--operations", "all"];
const sandbox = await startSandboxProcess(["--ids-from", file, ...unlimited, "--groups-from", groups]);
const soracom = { SIMFLEET_DEPLOYMENT: "soracom", SIMFLEET_BRAND: "Svc", SIMFLEET_COVERAGE: "g" };
const token = `sf_bench-${"x".repeat(32)}`;
const env = {
  ...sandbox.environment,
  SIMFLEET_DATA_DIR: dataDir,
  SIMFLEET_HTTP_PORT: "0",
  SIMFLEET_HTTP_ADMIN_TOKEN: token,
  ...(operation === undefined ? {} : soracom),
};

const about = operation === undefined ? [] : ["--operation", operation];

/** Seconds that a command, or another program, takes, its process included. */
async function timed(args: readonly string[], program?: string) {
  const startMs = systemClock.monotonicMs();
  const { out, peakMegabytes } = await runMeasured(args, env, program);
  return { out, peakMegabytes, seconds: (systemClock.monotonicMs() - startMs) / 1_000 };
}

const report: Record<string, string> = {};
let worker: Awaited<ReturnType<typeof startWorker>> | undefined;
try {
  worker = values.run ? await startWorker(env) : undefined;
  const bare: number[] = [];
  const plans: number[] = [];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    bare.push((await timed([file], fileURLToPath(new URL("csv-loop.ts", import.meta.url)))).seconds);
    plans.push((await timed(["plan", file, "--json", ...about])).seconds);
  }
  const ofBare = (seconds: number): string =>
    `${seconds.toFixed(1)}, ${(seconds / median(bare)).toFixed(2)} of csv-parse`;
  report["csv-parse, s"] = median(bare).toFixed(2);
  report["plan, s"] = ofBare(median(plans));
  const before = await usedMemory(redis);
  const startMs = systemClock.monotonicMs();
  const submitted = await timed(["apply", file, "--yes", "--detach", "--json", ...about]);
  report["plan and submit, s"] = ofBare(submitted.seconds);
  report["peak memory of apply, MB"] = submitted.peakMegabytes.toFixed(0);
  report["Redis bytes per row, submitted"] = (((await usedMemory(redis)) - before) / rows).toFixed(0);
  if (worker !== undefined) {
    const { runId } = JSON.parse(submitted.out) as { runId: string };
    await runSimfleet(["runs", "watch", runId], env);
    report["worked off, s"] = ((systemClock.monotonicMs() - startMs) / 1_000).toFixed(1);
    const bounds = { keepMs: minuteMs, maxEvents: 1 };
    const ledger = new Ledger({ redis, keys: new Keys(), clock: systemClock, bounds });
    const askedMs = systemClock.monotonicMs();
    const limiter = new Limiter({ redis, keys: new Keys() });
    await summarizeRun(runId, { ledger, limiter, clock: systemClock, periodMs: minuteMs });
    report["first summary, s"] = ((systemClock.monotonicMs() - askedMs) / 1_000).toFixed(1);
    report["peak memory of the worker, MB"] = (await peakMegabytesOf(worker.child.pid ?? 0)).toFixed(0);
    const usedBytes = (await usedMemory(redis)) - before;
    report["Redis bytes per row, finished, with the inventory"] = (usedBytes / rows).toFixed(0);
    const ofRun = await bytesOfKeys(redis, `*${runId}*`);
    report["Redis bytes per row, finished, of the run alone"] = (ofRun / rows).toFixed(0);
    const init = { method: "POST", headers: { authorization: `Bearer ${token}` } };
    const query = new URLSearchParams({ skipUnchanged: "false", operation: operation ?? "set-speed-class" });
    const body = await openAsBlob(file, { type: "text/csv" });
    const planned = await fetch(`${worker.url}/v1/plans?${query.toString()}`, { ...init, body });
    const { planId } = (await planned.json()) as { planId: string };
    const plannedMs = systemClock.monotonicMs();
    const started = await fetch(`${worker.url}/v1/runs?planId=${planId}`, init);
    report["start of a planned run, s"] = ((systemClock.monotonicMs() - plannedMs) / 1_000).toFixed(2);
    if (!started.ok) throw new Error(await started.text());
  }
} finally {
  await worker?.stop();
  await sandbox.stop();
  await close();
}
console.log(`${rows} rows`);
console.table(report);
