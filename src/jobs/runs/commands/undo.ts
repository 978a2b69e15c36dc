/** `simfleet runs undo`: syncs, then restores what a run changed, except for SIMs changed since. */
import { Command } from "@commander-js/extra-typings";
import { startSync } from "#jobs/inventory/contract.ts";
import { type FollowUpPlan, planUndo, showRun, undoRun } from "../contract.ts";
import { type Caller, type Context, asCount, isTerminal, withCommon } from "#cli/context.ts";
import { followSync } from "#jobs/inventory/commands/follow-sync.ts";
import { type Output, grouped } from "#cli/output.ts";
import { resultsPathOf, showToEnd } from "./end-of-run.ts";
import { type Confirming, type ConfirmOptions, confirmation, costText } from "./confirmation.ts";

export function undoCommand(context: Context): Command {
  const command = new Command("undo")
    .description("start a new run that restores the previous values; SIMs changed since are left as they are")
    .argument("<run>", "id of the finished run")
    .option("-y, --yes", "skip the confirmation; required without a terminal")
    .option("--confirm <n>", "confirm an irreversible operation with its number of SIMs; --yes is not enough", asCount)
    .option("--no-sync", "use the inventory as it is, without syncing first")
    .option("--detach", "submit the run, print its id and return");
  return withCommon(command, "simfleet runs undo r-20261120-103045-x7k2 --yes").action(async (runId, options) => {
    const output = context.output(options);
    const exitCode = await context.connect(options, (caller) =>
      undo(runId, {
        caller,
        context,
        output,
        given: options,
        syncs: options.sync,
        isDetached: options.detach === true,
      }),
    );
    context.io.setExitCode(exitCode);
  }) as unknown as Command;
}

interface UndoOptions {
  readonly caller: Caller;
  readonly context: Context;
  readonly output: Output;
  readonly given: ConfirmOptions;
  readonly syncs: boolean;
  readonly isDetached: boolean;
}

/** @throws SimfleetError RUN_STATE when there is nothing to undo */
async function undo(
  runId: string,
  { caller, context, output, given, syncs, isDetached }: UndoOptions,
): Promise<number> {
  const { client, app } = caller;
  const { io } = context;
  const { profile } = await client.call(showRun, { params: { runId } });
  // Reports that there is nothing to undo before a useless sync.
  let plan = await client.call(planUndo, { params: { runId } });
  await app?.client(profile).whoAmI(io.interrupt);
  if (syncs) {
    // Without a terminal the confirmation may fail: do that before the sync.
    if (!isTerminal(io)) await confirmation(confirming(plan), given, io);
    output.say("Syncing first, so that later changes are not overwritten …");
    await client.call(startSync, { query: { profile, restart: "true" } });
    const { report, exitCode } = await followSync({ ...caller, output, profile, interrupt: io.interrupt });
    if (report.state !== "finished") return exitCode;
    plan = await client.call(planUndo, { params: { runId } });
  }
  if (plan.costly > 0) output.say(`${costText(plan)}.`);
  const confirmed = await confirmation(confirming(plan), given, io);
  if (confirmed === undefined) {
    output.say("Nothing was started.");
    return 2;
  }
  const report = await client.call(undoRun, { params: { runId }, body: confirmed });
  if (isDetached) {
    output.answer(report, (shown) => shown.runId);
    return 0;
  }
  output.say(`Run ${report.runId} restores ${grouped(report.counts.total)} rows of ${runId}.`);
  return showToEnd({ caller, output, context, run: report, resultsPath: resultsPathOf(report) });
}

function confirming(plan: FollowUpPlan): Confirming {
  return { ...plan, question: undoQuestion(plan) };
}

export function undoQuestion({ calls, total }: Pick<FollowUpPlan, "calls" | "total">): string {
  if (calls === 0) {
    const rows = total === 1 ? "1 row stays as it is" : `${grouped(total)} rows stay as they are`;
    return `No SIM would be restored: ${rows}. Start the run to see why?`;
  }
  const question = `Restore the previous state of ${grouped(calls)} ${calls === 1 ? "SIM" : "SIMs"}?`;
  const others = total - calls;
  const left = others === 1 ? "1 other row stays as it is" : `${grouped(others)} other rows stay as they are`;
  return others > 0 ? `${question} (${left})` : question;
}
