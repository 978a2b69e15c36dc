/** `simfleet runs …`: the life of runs. */
import { Command } from "@commander-js/extra-typings";
import type { RunReport } from "#jobs/runs/report.ts";
import { type Context, asCount, confirm, withCommon } from "../../context.ts";
import { followRemote } from "../../follow-remote.ts";
import { follow } from "../../follow.ts";
import { runTable, runText } from "../../run-text.ts";
import { resultsCommand } from "./results.ts";
import { resumeCommand } from "./resume.ts";
import { retryCommand } from "./retry.ts";
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
    .addCommand(approveCommand(context))
    .addCommand(resultsCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list")
    .description("runs, newest first")
    .option("--limit <n>", "how many at most", asCount, 20)
    .option("--cursor <run>", "go on after this run: the nextCursor of the list before");
  return withCommon(command, "simfleet runs list --limit 50").action(async (options) => {
    const output = context.output(options);
    const { limit, cursor } = options;
    const page = await context.ask(options, {
      here: (app) => app.runs.list({ limit, cursor }),
      there: (worker) => worker.get<{ runs: RunReport[]; nextCursor: string | null }>("/v1/runs", { limit, cursor }),
    });
    output.answer(page, (shown) => runTable(shown.runs));
  });
}

function showCommand(context: Context): Command {
  const command = new Command("show").description("one run as it stands").argument("<run>", "the run's id");
  return withCommon(command, "simfleet runs show r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const { report, quarantined } = await context.ask(options, {
      here: async (app) => ({ report: await app.runs.show(runId), quarantined: await app.runs.quarantined(runId) }),
      there: async (worker) => ({
        report: await worker.get<RunReport>(`/v1/runs/${encodeURIComponent(runId)}`),
        quarantined: 0,
      }),
    });
    output.answer(report, (shown) => runText(shown));
    if (quarantined > 0) {
      output.say(`${quarantined} segments failed too often and wait: take them up again with simfleet runs resume`);
    }
  }) as unknown as Command;
}

function watchCommand(context: Context): Command {
  const command = new Command("watch").description("look on until a run ends").argument("<run>", "the run's id");
  return withCommon(command, "simfleet runs watch r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const { interrupt } = context.io;
    const { report, exitCode } = await context.ask(options, {
      here: (app) => follow({ app, output, runId, interrupt, mode: "watch" }),
      there: (worker) => followRemote(worker, { runId, output, interrupt }),
    });
    output.answer(report, (shown) => runText(shown));
    context.io.setExitCode(exitCode);
  }) as unknown as Command;
}

function pauseCommand(context: Context): Command {
  const command = new Command("pause").description("hold a run; calls that are out end").argument("<run>", "its id");
  return withCommon(command, "simfleet runs pause r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const report = await context.ask(options, {
      here: async ({ runs }) => {
        await runs.control.pause(runId, { reason: "paused by a person", by: context.actor });
        return runs.show(runId);
      },
      there: (worker) => worker.post<RunReport>(`/v1/runs/${encodeURIComponent(runId)}/pause`),
    });
    output.answer(report, (shown) => `${runText(shown)}\n  go on with: simfleet runs resume ${runId}`);
  }) as unknown as Command;
}

function cancelCommand(context: Context): Command {
  const command = new Command("cancel")
    .description("end a run; rows without a call stay as they are")
    .argument("<run>", "its id")
    .option("--yes", "do not ask on a terminal");
  return withCommon(command, "simfleet runs cancel r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    // It changes no SIM, so that a script needs no --yes; on a terminal it may be a slip, and cannot be taken back.
    const isAsked = options.yes !== true && context.io.stdin.isTTY === true;
    if (isAsked && !(await confirm(context.io, `Cancel ${runId}? It cannot be resumed.`))) {
      output.say("Nothing was changed.");
      context.io.setExitCode(2);
      return;
    }
    const report = await context.ask(options, {
      here: async ({ runs }) => {
        await runs.control.cancel(runId, { by: context.actor });
        return runs.show(runId);
      },
      there: (worker) => worker.post<RunReport>(`/v1/runs/${encodeURIComponent(runId)}/cancel`),
    });
    output.answer(report, (shown) => runText(shown));
  }) as unknown as Command;
}

function approveCommand(context: Context): Command {
  const command = new Command("approve")
    .description("let a large run begin that somebody else has submitted")
    .argument("<run>", "its id");
  return withCommon(command, "simfleet runs approve r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const report = await context.ask(options, {
      here: async ({ runs }) => {
        await runs.control.approve(runId, context.actor);
        return runs.show(runId);
      },
      there: (worker) => worker.post<RunReport>(`/v1/runs/${encodeURIComponent(runId)}/approve`),
    });
    output.answer(report, (shown) => runText(shown));
  }) as unknown as Command;
}
