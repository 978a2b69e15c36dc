/** `simfleet runs …`: the life of runs. */
import { Command } from "@commander-js/extra-typings";
import { approveRun, cancelRun, listRuns, pauseRun, showRun } from "../contract.ts";
import { type CommonOptions, type Context, confirm, withCommon } from "#cli/context.ts";
import { topReasons } from "./end-of-run.ts";
import { follow } from "./follow-run.ts";
import { answerList, withPageOptions } from "#cli/list.ts";
import { runList, runText } from "./run-text.ts";
import { deleteCommand } from "./delete.ts";
import { resultsCommand } from "./results.ts";
import { resumeCommand } from "./resume.ts";
import { retryCommand } from "./retry.ts";
import { undoCommand } from "./undo.ts";

export function runsCommand(context: Context): Command {
  return new Command("runs")
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(watchCommand(context))
    .addCommand(pauseCommand(context))
    .addCommand(resumeCommand(context))
    .addCommand(cancelCommand(context))
    .addCommand(retryCommand(context))
    .addCommand(undoCommand(context))
    .addCommand(approveCommand(context))
    .addCommand(resultsCommand(context))
    .addCommand(deleteCommand(context));
}

function listCommand(context: Context): Command {
  const command = withPageOptions(new Command("list").description("list runs, newest first"), 20);
  return withCommon(
    command,
    "simfleet runs list -n 50\nsimfleet runs list -n 1000 --columns runId,submittedBy,counts.failed --sort -counts.failed",
  ).action(async (options) => {
    const output = context.output(options);
    const { limit, cursor } = options;
    const page = await context.connect(options, ({ client }) => client.call(listRuns, { query: { limit, cursor } }));
    answerList(output, page, runList, options);
  });
}

function showCommand(context: Context): Command {
  const command = new Command("show")
    .description("show one run")
    .argument("<run>", "ID of the run")
    .option("-w, --watch", "follow the run until it ends, as runs watch does");
  return withCommon(command, "simfleet runs show r-20261120-103045-x7k2").action(async (runId, options) => {
    if (options.watch === true) return watch(context, runId, options);
    const output = context.output(options);
    const { report, reasons } = await context.connect(options, async ({ client }) => {
      const shown = await client.call(showRun, { params: { runId } });
      return { report: shown, reasons: output.isJson ? [] : await topReasons(client, shown) };
    });
    output.answer(report, (shown) => runText(shown, reasons));
  }) as unknown as Command;
}

function watchCommand(context: Context): Command {
  const command = new Command("watch").description("follow a run until it ends").argument("<run>", "ID of the run");
  return withCommon(command, "simfleet runs watch r-20261120-103045-x7k2").action((runId, options) =>
    watch(context, runId, options),
  ) as unknown as Command;
}

async function watch(context: Context, runId: string, options: CommonOptions): Promise<void> {
  const output = context.output(options);
  const { interrupt } = context.io;
  const { report, exitCode, reasons } = await context.connect(options, async (caller) => {
    const followed = await follow({ ...caller, output, runId, interrupt, mode: "watch" });
    return { ...followed, reasons: output.isJson ? [] : await topReasons(caller.client, followed.report) };
  });
  output.answer(report, (shown) => runText(shown, reasons));
  context.io.setExitCode(exitCode);
}

function pauseCommand(context: Context): Command {
  const command = new Command("pause")
    .description("pause a run; calls in flight are completed")
    .argument("<run>", "ID of the run");
  return withCommon(command, "simfleet runs pause r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const report = await context.connect(options, ({ client }) => client.call(pauseRun, { params: { runId } }));
    output.answer(report, (shown) => `${runText(shown)}\n  resume with: simfleet runs resume ${runId}`);
  }) as unknown as Command;
}

function cancelCommand(context: Context): Command {
  const command = new Command("cancel")
    .description("cancel a run; rows not yet sent are left unchanged")
    .argument("<run>", "ID of the run")
    .option("-y, --yes", "skip the confirmation");
  return withCommon(command, "simfleet runs cancel r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    // It changes no SIM, so that a script needs no --yes; on a terminal it may be a slip, and cannot be taken back.
    const isAsked = options.yes !== true && context.io.stdin.isTTY === true;
    if (isAsked && !(await confirm(context.io, `Cancel ${runId}? It cannot be resumed.`))) {
      output.say("Nothing was changed.");
      context.io.setExitCode(2);
      return;
    }
    const report = await context.connect(options, ({ client }) => client.call(cancelRun, { params: { runId } }));
    output.answer(report, (shown) => runText(shown));
  }) as unknown as Command;
}

function approveCommand(context: Context): Command {
  const command = new Command("approve")
    .description("approve a large run submitted by someone else")
    .argument("<run>", "ID of the run");
  return withCommon(command, "simfleet runs approve r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const report = await context.connect(options, ({ client }) => client.call(approveRun, { params: { runId } }));
    output.answer(report, (shown) => runText(shown));
  }) as unknown as Command;
}
