/** `simfleet runs …`: the life of runs. */
import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { type Outcome, outcomes } from "#fleet/run.ts";
import { writeResults } from "#runs/results.ts";
import { type Context, asCount, withCommon } from "../context.ts";
import { follow } from "../follow.ts";
import { runTable, runText } from "../run-text.ts";
import { showToEnd } from "./apply.ts";
import { undoCommand } from "./undo.ts";

export function runsCommand(context: Context): Command {
  return new Command("runs")
    .description("list, show and steer runs")
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(watchCommand(context))
    .addCommand(pauseCommand(context))
    .addCommand(resumeCommand(context))
    .addCommand(cancelCommand(context))
    .addCommand(retryCommand(context))
    .addCommand(undoCommand(context))
    .addCommand(resultsCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list")
    .description("runs, newest first")
    .option("--limit <n>", "how many at most", asCount, 20)
    .option("--cursor <run>", "go on after this run: the nextCursor of the list before");
  return withCommon(command, "simfleet runs list --limit 50").action(async (options) => {
    const output = context.output(options);
    await context.withApp(context.config(options), async (app) => {
      const { limit, cursor } = options;
      const page = await app.desk.list({ limit, ...(cursor === undefined ? {} : { cursor }) });
      output.answer(page, () => runTable(page.runs));
    });
  });
}

function showCommand(context: Context): Command {
  const command = new Command("show").description("one run as it stands").argument("<run>", "the run's id");
  return withCommon(command, "simfleet runs show r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    await context.withApp(context.config(options), async (app) => {
      const report = await app.desk.show(runId);
      output.answer(report, () => runText(report));
      const quarantined = await app.desk.quarantined(runId);
      if (quarantined > 0) {
        output.say(`${quarantined} segments failed too often and wait: take them up again with simfleet runs resume`);
      }
    });
  }) as unknown as Command;
}

function watchCommand(context: Context): Command {
  const command = new Command("watch").description("look on until a run ends").argument("<run>", "the run's id");
  return withCommon(command, "simfleet runs watch r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const { interrupt } = context.surroundings;
    const exitCode = await context.withApp(context.config(options), async (app) => {
      const followed = await follow({ app, output, runId, interrupt, mode: "watch" });
      output.answer(followed.report, () => runText(followed.report));
      return followed.exitCode;
    });
    context.surroundings.setExitCode(exitCode);
  }) as unknown as Command;
}

function pauseCommand(context: Context): Command {
  const command = new Command("pause").description("hold a run; calls that are out end").argument("<run>", "its id");
  return withCommon(command, "simfleet runs pause r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    await context.withApp(context.config(options), async (app) => {
      await app.desk.control.pause(runId, "paused by a person");
      const report = await app.desk.show(runId);
      output.answer(report, () => `${runText(report)}\n  go on with: simfleet runs resume ${runId}`);
    });
  }) as unknown as Command;
}

function cancelCommand(context: Context): Command {
  const command = new Command("cancel").description("end a run; rows without a call stay as they are");
  return withCommon(command.argument("<run>", "its id"), "simfleet runs cancel r-20261120-103045-x7k2").action(
    async (runId, options) => {
      const output = context.output(options);
      await context.withApp(context.config(options), async (app) => {
        await app.desk.control.cancel(runId);
        const report = await app.desk.show(runId);
        output.answer(report, () => runText(report));
      });
    },
  ) as unknown as Command;
}

function resumeCommand(context: Context): Command {
  const command = new Command("resume")
    .description("go on with a run where it stood, and show it until it ends")
    .argument("<run>", "its id")
    .option("--detach", "return at once");
  return withCommon(command, "simfleet runs resume r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const { interrupt } = context.surroundings;
    const exitCode = await context.withApp(context.config(options), async (app) => {
      const { profile } = await app.desk.record(runId);
      if (options.detach !== true) await app.client(profile).whoAmI(interrupt);
      await app.desk.control.resume(runId);
      if (options.detach !== true) return showToEnd({ app, output, context, runId });
      const report = await app.desk.show(runId);
      output.answer(report, () => runText(report));
      return 0;
    });
    context.surroundings.setExitCode(exitCode);
  }) as unknown as Command;
}

function retryCommand(context: Context): Command {
  const command = new Command("retry")
    .description("redo the rows of a run that failed or were cancelled, as a new run")
    .argument("<run>", "the id of the run that is over")
    .addOption(outcomeOption("take up rows with this outcome instead; repeatable"))
    .option("--detach", "submit the run, print its id and return");
  return withCommon(command, "simfleet runs retry r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const { interrupt } = context.surroundings;
    const exitCode = await context.withApp(context.config(options), async (app) => {
      const { profile } = await app.desk.record(runId);
      if (options.detach !== true) await app.client(profile).whoAmI(interrupt);
      const report = await app.desk.retry(runId, options.outcome);
      if (options.detach === true) {
        output.answer(report, () => report.runId);
        return 0;
      }
      output.say(`Run ${report.runId} redoes ${report.counts.total} rows of ${runId}.`);
      return showToEnd({ app, output, context, runId: report.runId });
    });
    context.surroundings.setExitCode(exitCode);
  }) as unknown as Command;
}

function resultsCommand(context: Context): Command {
  const command = new Command("results")
    .description("the results file of a run: every row of the input and what became of it")
    .argument("<run>", "its id")
    .addOption(outcomeOption("only rows with this outcome; repeatable"))
    .option("--out <file>", "write to this file, whole or not at all (default: stdout)")
    .addOption(new Option("--format <format>", "ndjson keeps cells raw").choices(["csv", "ndjson"]).default("csv"));
  return withCommon(command, "simfleet runs results r-20261120-103045-x7k2 --outcome failed --out failed.csv").action(
    async (runId, options) => {
      const output = context.output(options);
      await context.withApp(context.config(options), async (app) => {
        const report = await app.desk.show(runId);
        const format = options.format === "ndjson" ? "ndjson" : "csv";
        const lines = app.desk.results(runId, { format, outcomes: options.outcome });
        if (options.out !== undefined) {
          await writeResults(options.out, lines, "No outcome is lost: choose another place with --out");
          output.answer({ ...report, results: options.out }, () => `Results: ${String(options.out)}`);
        } else if (output.isJson) {
          const rows: unknown[] = [];
          const asked = { format: "ndjson", outcomes: options.outcome } as const;
          for await (const line of app.desk.results(runId, asked)) rows.push(JSON.parse(line));
          output.answer({ runId, rows }, () => "");
        } else {
          for await (const line of lines) output.raw(line);
        }
      });
    },
  ) as unknown as Command;
}

function outcomeOption(description: string) {
  return new Option("--outcome <outcome>", description).argParser<Outcome[]>((text, before) => {
    const outcome = outcomes.find((name) => name === text);
    if (outcome === undefined) throw new InvalidArgumentError(`It has to be one of ${outcomes.join(", ")}.`);
    return [...(before ?? []), outcome];
  });
}
