/** `simfleet demo`: the sandbox, a worker and a run of a sample file, from start to results in under a minute. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { runs } from "#jobs/runs/feature.ts";
import type { App } from "#kernel/app.ts";
import { loadConfig } from "#config/load.ts";
import { visibleIn } from "#core/visible-text.ts";
import { createFile } from "#core/files/write-file.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { writeResults } from "#jobs/runs/results/results.ts";
import { createLogger } from "#telemetry/logger.ts";
import { localCaller } from "../connect.ts";
import { type Context, asCount, withLocalOptions } from "../context.ts";
import { follow } from "#jobs/runs/commands/follow-run.ts";
import type { Output } from "../output.ts";
import { planText } from "#jobs/runs/commands/plan.ts";
import { runText } from "#jobs/runs/commands/run-text.ts";
import type { RunWorker } from "./worker.ts";
import { grouped } from "../format.ts";
import { withLuhnDigit } from "#fleet/sim/sim.ts";
import { csvLine } from "#intake/cell.ts";

/** A quota that makes the run meet several windows and still ends in under a minute. */
const quota = { callsPerPeriod: 500, periodSeconds: 10, offsetMs: 4_000 };

export function demoCommand(context: Context, runWorker: RunWorker): Command {
  const command = new Command("demo")
    .description("Try simfleet: a simulated platform, a worker, and a run of a sample file")
    .option("--rows <n>", "rows of the sample file", asCount, 2_000)
    .option("--keep", "keep everything running after the run, until Ctrl-C");
  const built = withLocalOptions(command, "simfleet demo --keep");
  // It brings a configuration of its own.
  for (const option of built.options) if (["--config", "--profile"].includes(option.long ?? "")) option.hideHelp();
  return built.action(async (options) => {
    const output = context.output(options);
    const folder = await mkdtemp(join(tmpdir(), "simfleet-demo-"));
    const file = join(folder, "fleet.csv");
    const { csv, simIds } = sampleFleet(options.rows);
    await createFile(file, csv, { mode: 0o644 });
    const sandbox = await startSandbox({
      port: 0,
      simIds,
      limits: { Sim: quota.callsPerPeriod, Credential: 60, Auth: 60 },
      periodSeconds: quota.periodSeconds,
      windowOffsetMs: quota.offsetMs,
      latencyMs: [15, 60],
    });
    try {
      const authKeyFile = join(folder, "auth-key");
      await createFile(authKeyFile, sandbox.options.authKey, { mode: 0o600 });
      // Settings that reach the demo's platform and data, and nothing else.
      const environment = {
        SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
        SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
        SIMFLEET_AUTH_KEY_FILE: authKeyFile,
        SIMFLEET_JWKS_URL: `${sandbox.url}/.well-known/jwks.json`,
        SIMFLEET_RATE_PERIOD_SECONDS: String(quota.periodSeconds),
        SIMFLEET_DATA_DIR: join(folder, "data"),
      };
      const keep = (): Promise<void> => keepUp({ context, output, runWorker, environment });
      const demo = { sandbox, folder, file, environment, keep: options.keep === true ? keep : undefined };
      context.io.setExitCode(await runDemo(context, output, demo));
    } finally {
      await sandbox.close();
    }
  });
}

interface Demo {
  readonly sandbox: Sandbox;
  readonly folder: string;
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly keep: (() => Promise<void>) | undefined;
}

async function runDemo(context: Context, output: Output, demo: Demo): Promise<number> {
  const { sandbox, folder, file, environment } = demo;
  const { env, interrupt } = context.io;
  // Nothing of the caller's own settings: the demo must never touch a real account, or a Redis with real runs.
  const config = loadConfig({ env: { ...environment, HOME: env.HOME } });
  output.say(`Sandbox platform on ${sandbox.url}: ${quota.callsPerPeriod} calls per ${quota.periodSeconds} s`);
  output.sayLines(`Sample file: ${file}\n`);
  return context.withApp(config, async (app) => {
    const runId = await submitSample(app, output, file);
    const { client } = await localCaller(context, app);
    const { report, exitCode } = await follow({ client, app, output, runId, interrupt, mode: "work" });
    const results = join(folder, "results.csv");
    await writeResults(results, app.service(runs).service.results(runId, { format: "csv" }), "Free some space there");
    const { byOperation, throttled } = sandbox.state.totals;
    output.answer({ ...report, results }, (shown) => runText(shown));
    output.say(
      `The platform accepted ${grouped(byOperation.updateSimSpeedClass ?? 0)} changes and rejected ${throttled} with 429.`,
    );
    output.say(`Results: ${results}`);
    // While this one is open its Redis stays up for the next.
    if (!interrupt.aborted) await demo.keep?.();
    // The three spoiled rows are part of the show: the demo itself went well.
    return report.counts.rejected === 3 && report.state === "completed" ? 0 : exitCode;
  });
}

async function submitSample(app: App, output: Output, file: string): Promise<string> {
  const order = {
    profile: app.kernel.config.profile,
    set: {},
    name: "demo",
    options: { partial: true, skipUnchanged: false },
  };
  const planned = await app.service(runs).service.draft({ path: file }, order);
  output.sayLines(planText(visibleIn(planned.report)));
  const report = await app.service(runs).service.submit(planned, { by: "cli:demo" });
  output.sayLines(`\nRun ${report.runId}, the valid rows of the file:`);
  return report.runId;
}

/** A worker with its dashboard, as `simfleet worker` would be. */
async function keepUp({
  context,
  output,
  runWorker,
  environment,
}: {
  context: Context;
  output: Output;
  runWorker: RunWorker;
  environment: Demo["environment"];
}): Promise<void> {
  const { env, interrupt, stderr } = context.io;
  const config = loadConfig({ env: { ...environment, HOME: env.HOME } });
  const logger = createLogger({ level: "error", destination: stderr, format: "lines" });
  const settings = Object.entries(environment).map(([name, value]) => `  export ${name}=${value}`);
  const onReady = (url: string): void => {
    output.sayLines(`\nDashboard: ${url}\n  Sign in with the token in ${join(config.dataDir, "admin-token")}`);
    output.sayLines(`\nSandbox and worker keep running until Ctrl-C. From another terminal:\n${settings.join("\n")}`);
    output.sayLines("  npx simfleet runs list\n  npx simfleet quota");
  };
  await runWorker({ config, env, features: context.features, logger, stop: interrupt, onReady });
}

// A sample fleet for the demo: realistic SIM IDs with a valid Luhn digit, extra columns, three invalid rows.

const sites = ["Osaka stadium", "Berlin depot", "Lyon, quay 4", "Porto ＆ São João", "Reno yard"];
const speedClasses = ["s1.slow", "s1.standard", "s1.fast"];

/** The SIM ID of the fleet's n-th member: 19 digits. */
export function sampleSimId(n: number): string {
  return withLuhnDigit(`894231${String(100_000_000_000 + n * 7_919).padStart(12, "0")}`);
}

/** @returns the CSV text, and the SIM IDs of its good rows */
function sampleFleet(rows: number): { csv: string; simIds: string[] } {
  const simIds: string[] = [];
  const lines = [csvLine(["SIM ID", "Speed Class", "site", "asset", "note"])];
  for (let n = 0; n < rows; n += 1) {
    const simId = sampleSimId(n);
    const speedClass = speedClasses[n % speedClasses.length] ?? "s1.slow";
    const spoiled = spoiledCells(n, rows, simId, speedClass);
    if (spoiled === undefined) simIds.push(simId);
    const [id, wanted] = spoiled ?? [simId, speedClass];
    const note = n % 97 === 0 ? 'says "hello"' : "";
    lines.push(csvLine([id, wanted, sites[n % sites.length] ?? "", `asset-${String(n).padStart(5, "0")}`, note]));
  }
  return { csv: lines.join(""), simIds };
}

/** Typical mistakes: a number that a spreadsheet ruined, an empty cell, a class with a typo. */
function spoiledCells(n: number, rows: number, simId: string, speedClass: string): [string, string] | undefined {
  if (n === Math.floor(rows * 0.1)) return ["8.94231E+18", speedClass];
  if (n === Math.floor(rows * 0.4)) return [simId, ""];
  if (n === Math.floor(rows * 0.7)) return [simId, "s1 fast!"];
  return undefined;
}
