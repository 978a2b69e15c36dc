/** `simfleet demo`: the sandbox, a worker and a run of a sample file, from start to results in under a minute. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app.ts";
import { loadConfig } from "#config/load.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { writeResults } from "#runs/results.ts";
import { type Context, asCount, withCommon } from "../context.ts";
import { follow } from "../follow.ts";
import { type Output, grouped } from "../output.ts";
import { planText } from "../plan-text.ts";
import { runText } from "../run-text.ts";
import { sampleFleet } from "../sample-fleet.ts";
import { makePlan } from "./plan.ts";

/** A quota that makes the run meet several windows and still ends in under a minute. */
const quota = { callsPerPeriod: 500, periodSeconds: 10, offsetMs: 4_000 };
const latencyMs = [15, 60] as const;

export function demoCommand(context: Context): Command {
  const command = new Command("demo")
    .description("see it work: a simulated platform, a worker, and a run of a sample file")
    .option("--rows <n>", "rows of the sample file", asCount, 2_000)
    .option("--keep", "leave it all up when the run has ended, until Ctrl-C");
  return withCommon(command, "simfleet demo --keep").action(async (options) => {
    const output = context.output(options);
    const folder = await mkdtemp(join(tmpdir(), "simfleet-demo-"));
    const file = join(folder, "fleet.csv");
    const { csv, simIds } = sampleFleet(options.rows);
    await writeFile(file, csv);
    const sandbox = await startSandbox({
      port: 0,
      simIds,
      limits: { Sim: quota.callsPerPeriod, Credential: 60, Auth: 60 },
      periodSeconds: quota.periodSeconds,
      windowOffsetMs: quota.offsetMs,
      latencyMs: [...latencyMs],
    });
    try {
      const exitCode = await runDemo(context, output, { sandbox, folder, file, keep: options.keep === true });
      context.surroundings.setExitCode(exitCode);
    } finally {
      await sandbox.close();
    }
  });
}

async function runDemo(
  context: Context,
  output: Output,
  demo: { sandbox: Sandbox; folder: string; file: string; keep: boolean },
): Promise<number> {
  const { sandbox, folder, file } = demo;
  const environment = {
    SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
    SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
    SIMFLEET_AUTH_KEY: sandbox.options.authKey,
    SIMFLEET_JWKS_URL: `${sandbox.url}/.well-known/jwks.json`,
    SIMFLEET_RATE_PERIOD_SECONDS: String(quota.periodSeconds),
    SIMFLEET_DATA_DIR: join(folder, "data"),
  };
  const { env, interrupt } = context.surroundings;
  // Nothing of the caller's own settings: the demo must never touch a real account, or a Redis with real runs.
  const config = loadConfig({ env: { ...environment, HOME: env.HOME } });
  output.say(`Sandbox platform on ${sandbox.url}: ${quota.callsPerPeriod} calls per ${quota.periodSeconds} s`);
  output.say(`Sample file: ${file}\n`);
  return context.withApp(config, async (app) => {
    const runId = await submitSample(app, output, file);
    const { report, exitCode } = await follow({ app, output, runId, interrupt, mode: "work" });
    const results = join(folder, "results.csv");
    await writeResults(results, app.desk.results(runId, { format: "csv" }), "Make room there");
    const throttled = sandbox.state.totals.throttled;
    output.answer({ ...report, results }, () => runText(report));
    output.say(
      `The platform took ${grouped(sandbox.state.totals.byOperation.updateSimSpeedClass ?? 0)} changes and refused ${throttled} with 429.`,
    );
    output.say(`Results: ${results}`);
    if (demo.keep && !interrupt.aborted) await keepUp(app, output, { environment, interrupt });
    // The three spoiled rows are part of the show: the demo itself went well.
    return report.counts.rejected === 3 && report.state === "completed" ? 0 : exitCode;
  });
}

async function submitSample(app: App, output: Output, file: string): Promise<string> {
  const { config } = app;
  const plan = await makePlan(app, config, { from: { path: file } });
  output.say(planText(plan));
  const report = await app.desk.submit(plan, {
    name: "demo",
    profile: config.profile,
    bucket: app.bucketOf(config.profile),
    source: "fleet.csv",
    options: { partial: true, skipUnchanged: false },
  });
  output.say(`\nRun ${report.runId}, the valid rows of the file:`);
  return report.runId;
}

async function keepUp(
  app: App,
  output: Output,
  demo: { environment: Record<string, string>; interrupt: AbortSignal },
): Promise<void> {
  const consumer = await app.consume(app.config.profile, (trouble) => output.say(`simfleet: ${trouble.message}`));
  const settings = Object.entries(demo.environment).map(([name, value]) => `  export ${name}=${value}`);
  output.say(`\nSandbox and worker stay up until Ctrl-C. From another terminal:\n${settings.join("\n")}`);
  output.say("  npx --no-install simfleet runs list\n  npx --no-install simfleet quota");
  await new Promise<void>((resolve) => {
    if (demo.interrupt.aborted) resolve();
    demo.interrupt.addEventListener("abort", () => resolve(), { once: true });
  });
  await consumer.stop();
}
