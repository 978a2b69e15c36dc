/** `simfleet demo`: the sandbox, a worker and a run of a sample file, from start to results in under a minute. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Command } from "@commander-js/extra-typings";
import type { App } from "#kernel/app.ts";
import type { Config } from "#config/config.ts";
import { sectionsOf } from "#config/feature-section.ts";
import { loadConfig } from "#config/load.ts";
import { visibleIn } from "#core/visible-text.ts";
import { createFile } from "#core/files/write-file.ts";
import { startSandbox } from "#sandbox/server.ts";
import { writeResults } from "#core/files/output-file.ts";
import { createLogger } from "#telemetry/logger.ts";
import { localCaller } from "#cli/connect.ts";
import { type Context, asCount, withCommon } from "#cli/context.ts";
import type { Output } from "#cli/output.ts";
import { grouped } from "#core/grouped.ts";
import { withLuhnDigit } from "#sandbox/sims/sim-records.ts";
import { csvLine } from "#intake/cell.ts";
import { runs } from "../feature.ts";
import { follow } from "./follow-run.ts";
import { planText } from "./plan.ts";
import { runText } from "./run-text.ts";

/** A quota that makes the run meet several windows and still ends in under a minute. */
const quota = { callsPerPeriod: 500, periodSeconds: 10, offsetMs: 4_000 };

export function demoCommand(context: Context): Command {
  const command = new Command("demo")
    .description("Try simfleet: a simulated platform, a worker, and a run of a sample file")
    .option("--rows <n>", "rows of the sample file", asCount, 2_000)
    .option("--keep", "keep everything running after the run, until Ctrl-C");
  const built = withCommon(command, "simfleet demo --keep", "locally");
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
      const sections = await sectionsOf(context.features);
      // Nothing of the caller's own settings: the demo must never touch a real account, or a Redis with real runs.
      const config = loadConfig({ env: { ...environment, HOME: context.io.env.HOME }, sections });
      output.say(`Sandbox platform on ${sandbox.url}: ${quota.callsPerPeriod} calls per ${quota.periodSeconds} s`);
      output.sayLines(`Sample file: ${file}\n`);
      const exitCode = await context.withApp(config, async (app) => {
        const ended = await runSample(context, app, output, file);
        const { byOperation, throttled } = sandbox.state.totals;
        output.say(
          `The platform accepted ${grouped(byOperation.updateSimSpeedClass ?? 0)} changes and rejected ${throttled} with 429.`,
        );
        output.say(`Results: ${join(folder, "results.csv")}`);
        // While this one is open its Redis stays up for the next.
        if (options.keep === true && !context.io.interrupt.aborted) {
          await keepUp(context, output, { config, environment });
        }
        return ended;
      });
      context.io.setExitCode(exitCode);
    } finally {
      await sandbox.close();
    }
  });
}

/** @returns the exit code */
async function runSample(context: Context, app: App, output: Output, file: string): Promise<number> {
  const { service } = app.service(runs);
  const { profile } = app.kernel.config;
  const order = { profile, set: {}, name: "demo", options: { partial: true, skipUnchanged: false } };
  const planned = await service.draft({ path: file }, order);
  output.sayLines(planText(visibleIn(planned.report)));
  const { runId } = await service.submit(planned, { by: "cli:demo" });
  output.sayLines(`\nRun ${runId}, the valid rows of the file:`);
  const caller = localCaller(context, app, output);
  const { report, exitCode } = await follow({ ...caller, runId, mode: "work" });
  const results = join(dirname(file), "results.csv");
  await writeResults(results, service.results(runId, { format: "csv" }), "Free some space there");
  output.answer({ ...report, results }, (shown) => runText(shown));
  // The three spoiled rows are part of the show: the demo itself went well.
  return report.counts.rejected === 3 && report.state === "completed" ? 0 : exitCode;
}

/** A worker with its dashboard, as `simfleet worker` would be. */
async function keepUp(
  { io: { env, interrupt, stderr }, features }: Context,
  output: Output,
  { config, environment }: { config: Config; environment: Readonly<Record<string, string>> },
): Promise<void> {
  const logger = createLogger({ level: "error", destination: stderr, format: "lines" });
  const settings = Object.entries(environment).map(([name, value]) => `  export ${name}=${value}`);
  const onReady = (url: string): void => {
    output.sayLines(`\nDashboard: ${url}\n  Sign in with the token in ${join(config.dataDir, "admin-token")}`);
    output.sayLines(`\nSandbox and worker keep running until Ctrl-C. From another terminal:\n${settings.join("\n")}`);
    output.sayLines("  npx simfleet runs list\n  npx simfleet quota");
  };
  const { serve } = await import("#kernel/serve.ts");
  await serve({ config, load: () => config, env, features, logger, stop: interrupt, onReady });
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
  // Typical mistakes: a class with a typo, an empty cell, a number that a spreadsheet ruined.
  const mistakes = new Map([
    [Math.floor(rows * 0.7), { speedClass: "s1 fast!" }],
    [Math.floor(rows * 0.4), { speedClass: "" }],
    [Math.floor(rows * 0.1), { id: "8.94231E+18" }],
  ]);
  const simIds: string[] = [];
  const lines = [csvLine(["SIM ID", "Speed Class", "site", "asset", "note"])];
  for (let n = 0; n < rows; n += 1) {
    const good = { id: sampleSimId(n), speedClass: speedClasses[n % speedClasses.length] ?? "" };
    if (!mistakes.has(n)) simIds.push(good.id);
    const { id, speedClass } = { ...good, ...mistakes.get(n) };
    const note = n % 97 === 0 ? 'says "hello"' : "";
    lines.push(csvLine([id, speedClass, sites[n % sites.length] ?? "", `asset-${String(n).padStart(5, "0")}`, note]));
  }
  return { csv: lines.join(""), simIds };
}
