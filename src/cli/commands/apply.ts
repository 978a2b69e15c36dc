/** `simfleet apply FILE`: plans the file, asks, submits the run and shows it until it ends. */
import { basename, dirname, extname, join } from "node:path";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import type { App } from "#app/app.ts";
import type { Config } from "#config/config.ts";
import { SimfleetError } from "#core/errors.ts";
import { visibleIn } from "#core/visible-text.ts";
import type { FailureLimit, RunOptions } from "#fleet/run.ts";
import { reportOfPlan } from "#jobs/runs/plan/plan-report.ts";
import type { RunReport } from "#jobs/runs/report.ts";
import { writeResults } from "#jobs/runs/results.ts";
import { assertAllValid } from "#jobs/runs/submit.ts";
import { applyRemotely } from "../apply-remote.ts";
import type { RemoteWorker } from "../remote-worker.ts";
import { type Context, asCount, confirm, withCommon } from "../context.ts";
import { follow } from "../follow/follow-run.ts";
import { type Output, grouped } from "../output.ts";
import { planText } from "../plan-text.ts";
import { countsText, runText } from "../run-text.ts";
import { whereOption } from "../where.ts";
import { makePlan, originOf } from "./plan.ts";

export function applyCommand(context: Context): Command {
  const command = new Command("apply")
    .description("change speed classes from a file: plan, run, and write a result for every row")
    .argument("[file]", "CSV file with the columns simId (or imsi) and speedClass")
    .addOption(whereOption("select SIMs from the inventory with a filter instead of a file; repeatable"))
    .option("--speed-class <class>", "one class for all rows; needed with --where and with a file of ids only")
    .option("--name <name>", "name of the run (default: the file name or the filter)")
    .option("--yes", "skip the confirmation; required without a terminal")
    .option("--partial", "process only the valid rows of a file with invalid ones")
    .option("--skip-unchanged", "skip SIMs that already have the class, by the inventory")
    .option(
      "--max-failures <n>",
      "abort when more rows than this fail: a number or a percentage such as 5%",
      asFailureLimit,
    )
    .option("--canary <n>", "process the first n rows, and the rest only if all of them succeed", asCount)
    .option("--rate <n>", "maximum number of calls per minute", asCount)
    .option("--out <file>", "write the results to this file (default: next to the input file)")
    .option("--detach", "submit the run, print its id and return");
  return withCommon(
    command,
    "simfleet apply fleet.csv --yes\nsimfleet apply --where tags.site=stadium --speed-class s1.fast --skip-unchanged\nsimfleet apply ids.csv --speed-class s1.slow --canary 20 --max-failures 2% --rate 120",
  ).action(async (file, options, self) => {
    const from = originOf(file, options.where, self);
    const output = context.output(options);
    const runOptions = runOptionsOf(options);
    const { speedClass, where, name } = options;
    const there = (worker: RemoteWorker): Promise<number> =>
      applyRemotely(
        worker,
        { file, where, speedClass, name: name ?? (file && basename(file)), options: runOptions },
        {
          ...{ context, output, isAgreed: options.yes === true, isDetached: options.detach === true },
          resultsPathFor: (runId) => resultsPathFor({ beside: file, out: options.out }, runId),
        },
      );
    const here = async (app: App, config: Config): Promise<number> => {
      const { profile } = config;
      const callsPerMinute = options.rate;
      const { skipUnchanged } = runOptions;
      const plan = await makePlan(app, config, { from, speedClass, skipUnchanged, callsPerMinute });
      output.sayLines(planText(visibleIn(reportOfPlan(plan))));
      assertAllValid(plan.source, runOptions);
      // Wrong credentials show now, not after the first thousand rows have been submitted.
      const client = app.client(profile);
      if (options.detach !== true) await client.whoAmI(context.io.interrupt);
      if (options.yes !== true && !(await confirm(context.io, changesQuestion(plan.calls)))) {
        output.say("Nothing was started.");
        return 2;
      }
      const { origin } = plan.source;
      const source = "file" in origin ? basename(origin.file) : origin.where;
      const report = await app.runs.submit(plan, {
        name: options.name ?? source,
        profile,
        bucket: app.bucketOf(profile),
        source,
        options: runOptions,
        by: context.actor,
      });
      if (options.detach === true) return detached(app, output, report);
      output.say(`Run ${report.runId} started.`);
      return showToEnd({ app, output, context, runId: report.runId, results: { beside: file, out: options.out } });
    };
    context.io.setExitCode(await context.ask(options, { here, there }));
  }) as unknown as Command;
}

function changesQuestion(calls: number): string {
  return `Make ${grouped(calls)} ${calls === 1 ? "change" : "changes"}?`;
}

async function detached(app: App, output: Output, report: RunReport): Promise<number> {
  output.answer(report, (shown) => shown.runId);
  const { bucket } = await app.runs.record(report.runId);
  if (!(await app.runs.isServed(bucket))) {
    output.say(
      `No worker is running: the run starts with the next one (simfleet worker), or with: simfleet runs resume ${report.runId}`,
    );
  }
  return 0;
}

/**
 * Shows a run until it ends and prints its report; writes its results if a path is given.
 * @returns the exit code
 */
export async function showToEnd(ask: {
  app: App;
  output: Output;
  context: Context;
  runId: string;
  results?: { readonly beside: string | undefined; readonly out: string | undefined };
}): Promise<number> {
  const { app, output, context, runId } = ask;
  const { interrupt } = context.io;
  const { report, exitCode } = await follow({ app, output, runId, interrupt, mode: "work" });
  const isOver = report.finishedAt !== null;
  const remote = `simfleet runs results ${runId} --out FILE`;
  let resultsPath: string | undefined;
  let unwritten: SimfleetError | undefined;
  const path = resultsPathFor(ask.results, runId);
  if (path !== undefined && isOver) {
    const fix = `No outcome is lost: write them to another path with ${remote}`;
    try {
      await writeResults(path, app.runs.results(runId, { format: "csv" }), fix);
      resultsPath = path;
    } catch (thrown) {
      // The run is over whatever became of the file: its report comes first.
      if (!(thrown instanceof SimfleetError) || thrown.code !== "RESULTS_NOT_WRITABLE") throw thrown;
      unwritten = thrown;
    }
  }
  output.answer(resultsPath === undefined ? report : { ...report, results: resultsPath }, (shown) =>
    isOver ? runText(shown) : countsText(shown),
  );
  if (unwritten !== undefined) output.say(`simfleet: ${unwritten.message}`);
  else if (isOver) output.say(`Results: ${resultsPath ?? remote}`);
  return unwritten?.exitCode ?? exitCode;
}

/** Where it was asked for, else `fleet.csv` -> `fleet.r-….results.csv`, beside it. */
function resultsPathFor(
  results: { readonly beside: string | undefined; readonly out: string | undefined } | undefined,
  runId: string,
): string | undefined {
  if (results?.out !== undefined || results?.beside === undefined) return results?.out;
  const { beside } = results;
  return join(dirname(beside), `${basename(beside, extname(beside))}.${runId}.results.csv`);
}

function runOptionsOf(options: {
  partial?: true | undefined;
  skipUnchanged?: true | undefined;
  maxFailures?: FailureLimit | undefined;
  canary?: number | undefined;
  rate?: number | undefined;
}): RunOptions {
  return {
    partial: options.partial === true,
    skipUnchanged: options.skipUnchanged === true,
    ...(options.maxFailures === undefined ? {} : { maxFailures: options.maxFailures }),
    ...(options.canary === undefined ? {} : { canary: options.canary }),
    ...(options.rate === undefined ? {} : { callsPerMinute: options.rate }),
  };
}

function asFailureLimit(text: string): FailureLimit {
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(text);
  const amount = Number(match?.[1]);
  if (match === null || (match[2] === "%" ? amount > 100 : !Number.isInteger(amount))) {
    throw new InvalidArgumentError("It must be a number of rows, such as 20, or a percentage, such as 5%.");
  }
  return match[2] === "%" ? { percent: amount } : { rows: amount };
}
