/** `simfleet runs …`: the life of runs. */
import * as routes from "../contract.ts";
import { type Changed, type PlanReport, changedText } from "../contract.ts";
import {
  addSeeAlso,
  asCount,
  type Caller,
  type Context,
  isTerminal,
  withCaller,
  withCommon,
  yesOption,
  choiceOption,
  oneOf,
} from "#cli/context.ts";
import { confirmation, costText, optionTexts, topReasons, resultsPathOf, showToEnd, startAsked } from "./end-of-run.ts";
import { follow } from "./follow-run.ts";
import { answerList, withPageOptions } from "#cli/list.ts";
import { runList, runText } from "./run-text.ts";
import { startSync } from "#jobs/inventory/contract.ts";
import { Command, Option } from "@commander-js/extra-typings";
import { type Outcome, outcomes as allOutcomes, runStates } from "#fleet/run.ts";
import { assertCanWrite, writeResults } from "#core/files/output-file.ts";
import { counted } from "#cli/format.ts";
import { grouped } from "#core/grouped.ts";

export function runsCommand(context: Context): Command {
  const command = new Command("runs");
  addSeeAlso(command, "plan", "apply");
  return command
    .addCommand(listCommand(context), { isDefault: true })
    .addCommand(showCommand(context))
    .addCommand(watchCommand(context))
    .addCommand(stepCommand(context, "pause"))
    .addCommand(resumeCommand(context))
    .addCommand(cancelCommand(context))
    .addCommand(retryCommand(context))
    .addCommand(undoCommand(context))
    .addCommand(stepCommand(context, "approve"))
    .addCommand(resultsCommand(context))
    .addCommand(deleteCommand(context));
}

function listCommand(context: Context): Command {
  const states = choiceOption("--state <state>", "only runs in this state; without it, all but plans", runStates);
  const command = withPageOptions(new Command("list").description("List runs, newest first"), 20).addOption(states);
  const example =
    "simfleet runs list -n 50\nsimfleet runs list -n 1000 --columns runId,submittedBy,counts.failed --sort -counts.failed";
  return withCaller(context, command, example, async ({ client, output }, options) => {
    const { limit, cursor, state } = options;
    const shape = state === undefined ? runList : { ...runList, empty: `No run is ${state}.` };
    answerList(output, await client.call(routes.listRuns, { query: { limit, cursor, state } }), shape, options);
  });
}

function showCommand(context: Context): Command {
  const command = aboutRun("show", "Show one run").option(
    "-w, --watch",
    "follow the run until it ends, as runs watch does",
  );
  return withCaller(context, command, "simfleet runs show r-20261120-103045-x7k2", (caller, runId, { watch }) =>
    show(caller, runId, watch === true ? "watch" : "show"),
  );
}

/** A command about one run. */
function aboutRun(name: string, description: string) {
  return new Command(name).description(description).argument("<run>", "ID of the run");
}

function watchCommand(context: Context): Command {
  const command = aboutRun("watch", "Follow a run until it ends");
  return withCaller(context, command, "simfleet runs watch r-20261120-103045-x7k2", (caller, runId) =>
    show(caller, runId, "watch"),
  );
}

/** @returns the exit code */
async function show(caller: Caller, runId: string, how: "show" | "watch"): Promise<number> {
  const { client, output } = caller;
  const { report, exitCode } =
    how === "watch"
      ? await follow({ ...caller, runId, mode: "watch" })
      : { report: await client.call(routes.showRun, { params: { runId } }), exitCode: 0 };
  const reasons = output.isJson ? [] : await topReasons(client, report);
  output.answer(report, (shown) => runText(shown, reasons));
  return exitCode;
}

/** Commands that change the state of a run; `next` is the command that can follow. */
const steps = {
  pause: { route: routes.pauseRun, description: "Pause a run; calls in flight are completed", next: "resume" },
  approve: { route: routes.approveRun, description: "Approve a run submitted by someone else", next: undefined },
};

function stepCommand(context: Context, name: keyof typeof steps): Command {
  const { route, description, next } = steps[name];
  const command = aboutRun(name, description);
  const example = `simfleet runs ${name} r-20261120-103045-x7k2`;
  return withCaller(context, command, example, async ({ client, output }, runId) => {
    const report = await client.call(route, { params: { runId } });
    const hint = next === undefined ? "" : `\n  ${next} with: simfleet runs ${next} ${runId}`;
    output.answer(report, (shown) => `${runText(shown)}${hint}`);
  });
}

function cancelCommand(context: Context) {
  const command = aboutRun("cancel", "Cancel a run; rows not yet sent are left unchanged").option(
    "-y, --yes",
    "skip the confirmation",
  );
  return withCommon(command, "simfleet runs cancel r-20261120-103045-x7k2").action(async (runId, options) => {
    // It changes no SIM, so that a script needs no --yes; on a terminal it may be a slip, and cannot be taken back.
    const isAsked = context.io.stdin.isTTY === true;
    if (isAsked && !(await context.isConfirmed(options, `Cancel ${runId}? It cannot be resumed.`, "changed"))) return;
    const report = await context.connect(options, ({ client }) => client.call(routes.cancelRun, { params: { runId } }));
    context.output(options).answer(report, (shown) => runText(shown));
  });
}

// `simfleet runs delete`: removes a run that is over from Redis.

function deleteCommand(context: Context): Command {
  const command = aboutRun("delete", "Delete a finished run with its rows and results").addOption(yesOption());
  const example = "simfleet runs delete r-20261120-103045-x7k2 --yes";
  return withCaller(context, command, example, async ({ client, output }, runId, options) => {
    const { name, counts } = await client.call(routes.showRun, { params: { runId } });
    const question = `Delete ${runId} (${name}) and the results of its ${counted(counts.total, "row")}? They cannot be restored.`;
    if (!(await context.isConfirmed(options, question, "deleted"))) return 2;
    await client.call(routes.deleteRun, { params: { runId } });
    output.answer({ runId, deleted: true }, () => `Deleted ${runId}.`);
    return 0;
  });
}

// `simfleet runs resume`: resumes a paused run.

function resumeCommand(context: Context): Command {
  const command = aboutRun("resume", "Resume a run and follow it until it ends")
    .option("-o, --out <file>", optionTexts.out)
    .option("--detach", "return immediately; needs a running worker");
  return withCaller(context, command, "simfleet runs resume r-20261120-103045-x7k2", async (caller, runId, options) => {
    const { client, app, output } = caller;
    if (options.detach === true) {
      output.answer(await client.call(routes.resumeRun, { params: { runId } }), (shown) => runText(shown));
      return 0;
    }
    const report = await client.call(routes.showRun, { params: { runId } });
    const resultsPath = options.out ?? resultsPathOf(report);
    await assertCanWrite(resultsPath);
    await app?.kernel.client(report.profile).whoAmI(context.io.interrupt);
    await client.call(routes.resumeRun, { params: { runId } });
    return showToEnd(caller, report, resultsPath);
  });
}

/** A command that starts a run from the rows of another one. */
export function followUpCommand(name: string, description: string) {
  return new Command(name)
    .description(description)
    .argument("<run>", "ID of the finished run")
    .addOption(yesOption())
    .option("--confirm <n>", optionTexts.confirm, asCount)
    .option("-o, --out <file>", optionTexts.out)
    .option("--detach", optionTexts.detach);
}

// `simfleet runs retry`: redoes rows of a run, as a new run.

function retryCommand(context: Context): Command {
  const command = followUpCommand("retry", "Retry failed and cancelled rows in a new run")
    .addOption(outcomeOption("retry rows with this outcome instead; repeatable"))
    .option(
      "--reason <text>",
      "only rows with this reason, including rejected rows; copy the reason from runs show, where … matches any text",
    );
  const example = "simfleet runs retry r-20261120-103045-x7k2 --yes";
  return withCaller(context, command, example, async (caller, ofRunId, options) => {
    const { outcome, reason, detach, out } = options;
    const { client, app, output } = caller;
    const before = await client.call(routes.showRun, { params: { runId: ofRunId } });
    if (detach !== true) await assertCanWrite(out ?? resultsPathOf(before));
    if (detach !== true) await app?.kernel.client(before.profile).whoAmI(context.io.interrupt);
    const rows = { retryOf: ofRunId, outcomes: outcome, reason };
    const plan = await client.call(routes.createPlan, { query: {}, rows });
    for (const text of [...plan.warnings, costText(plan)]) if (text !== "") output.say(`${text}.`);
    const question = `${changedText(plan)}. Send ${counted(plan.rows, "row")} of ${ofRunId} again?`;
    return startAsked(caller, context, {
      plan,
      question,
      options,
      startedText: ({ runId, counts }) => `Run ${runId} retries ${counted(counts.total, "row")} of ${ofRunId}.`,
      resultsPathOf,
    });
  });
}

// `simfleet runs undo`: syncs, then restores what a run changed, except for SIMs changed since.

function undoCommand(context: Context): Command {
  const command = followUpCommand(
    "undo",
    "Start a new run that restores the previous values; SIMs changed since are left as they are",
  ).option("--no-sync", "use the inventory as it is, without syncing first");
  const example = "simfleet runs undo r-20261120-103045-x7k2 --yes";
  return withCaller(context, command, example, async (caller, runId, options) => {
    const { io } = context;
    const { client, app, output } = caller;
    const before = await client.call(routes.showRun, { params: { runId } });
    const { profile } = before;
    if (options.detach !== true) await assertCanWrite(options.out ?? resultsPathOf(before));
    await app?.kernel.client(profile).whoAmI(io.interrupt);
    // Reports that there is nothing to undo before a useless sync.
    let plan = await client.call(routes.createPlan, { query: {}, rows: { undoOf: runId } });
    if (options.sync) {
      await client.call(routes.deletePlan, { params: { planId: plan.planId } });
      // Without a terminal the confirmation may fail: do that before the sync.
      if (!isTerminal(io) && plan.calls > 0) {
        await confirmation({ ...plan, question: undoQuestion(plan) }, options, io);
      }
      output.say("Syncing first, so that later changes are not overwritten …");
      const sync = await client.call(startSync, { query: { profile, restart: "true" } });
      const { followSync } = await import("#jobs/inventory/commands/sims.ts");
      const synced = await followSync(sync.profile, caller);
      if (synced.report.state !== "finished") return synced.exitCode;
      plan = await client.call(routes.createPlan, { query: {}, rows: { undoOf: runId } });
    }
    const { calls, rows: total } = plan;
    const texts = calls === 0 ? [] : [...plan.warnings, costText(plan)];
    for (const text of texts) if (text !== "") output.say(`${text}.`);
    const rows = calls === total ? counted(total, "row") : `${grouped(calls)} of ${counted(total, "row")}`;
    return startAsked(caller, context, {
      plan,
      question: undoQuestion(plan),
      // The start says why there is nothing to restore.
      options: calls === 0 ? { ...options, yes: true } : options,
      startedText: (undo) => `Run ${undo.runId} restores ${rows} of ${runId}.`,
      resultsPathOf,
    });
  });
}

export function undoQuestion(plan: Pick<PlanReport, "calls" | "rows"> & Changed): string {
  const { calls, rows } = plan;
  const question = `${changedText(plan)}. Restore the previous state of ${counted(calls, "SIM")}?`;
  const others = rows - calls;
  return others > 0
    ? `${question} (${others === 1 ? "1 other row stays as it is" : `${grouped(others)} other rows stay as they are`})`
    : question;
}

// `simfleet runs results`: every input row with its outcome.

/** The option by which commands take rows with some outcome. */
export function outcomeOption(description: string) {
  return new Option("--outcome <outcome>", `${description}: ${allOutcomes.join(", ")}`).argParser<Outcome[]>(
    (text, before) => [...(before ?? []), oneOf(text, allOutcomes)],
  );
}

export function resultsCommand(context: Context): Command {
  const command = aboutRun("results", "Print the results of a run: every input row with its outcome")
    .addOption(outcomeOption("only rows with this outcome; repeatable"))
    .option("-o, --out <file>", "write to this file atomically (default: stdout)")
    .addOption(
      choiceOption(
        "--format <format>",
        "csv escapes cells that a spreadsheet would run as formulas; ndjson has the raw values",
        ["csv", "ndjson"],
      ).default("csv"),
    );
  const example = "simfleet runs results r-20261120-103045-x7k2 --outcome failed --out failed.csv";
  return withCaller(context, command, example, async ({ client, output }, runId, options) => {
    const { outcome, out } = options;
    const format = options.format === "ndjson" || (output.isJson && out === undefined) ? "ndjson" : "csv";
    const report = await client.call(routes.showRun, { params: { runId } });
    const lines = await client.call(routes.downloadResults, { params: { runId }, query: { format, outcome } });
    if (out !== undefined) {
      await writeResults(out, lines, "No outcome is lost: choose another path with --out");
      output.answer({ ...report, results: out }, (shown) => `Results: ${shown.results}`);
    } else if (output.isJson) {
      let text = "";
      for await (const batch of lines) text += batch;
      const rows = text.split("\n").filter(Boolean);
      output.answer({ runId, rows: rows.map((row) => JSON.parse(row) as unknown) }, () => "");
    } else {
      for await (const batch of lines) await output.stream(batch);
    }
  });
}
