/** `simfleet runs undo`: syncs, then restores what a run changed, except for SIMs changed since. */
import { Command } from "@commander-js/extra-typings";
import { startSync } from "#jobs/inventory/contract.ts";
import { type FollowUpPlan, planUndo, showRun, undoRun } from "../contract.ts";
import { type Caller, type Context, asCount, isTerminal, withCommon } from "#cli/context.ts";
import { followSync } from "#jobs/inventory/commands/follow-sync.ts";
import type { Output } from "#cli/output.ts";
import { assertCanWrite } from "../results/results.ts";
import { resultsPathOf, showToEnd } from "./end-of-run.ts";
import { type Confirming, type ConfirmOptions, confirmation, costText } from "./confirmation.ts";
import { runsStrings, startStrings } from "../strings.ts";
import { commonStrings } from "#cli/strings.ts";

export function undoCommand(context: Context): Command {
  const command = new Command("undo")
    .description(runsStrings.undo)
    .argument("<run>", runsStrings.finishedRun)
    .option("-y, --yes", commonStrings.yes)
    .option("--confirm <n>", startStrings.confirm, asCount)
    .option("--no-sync", runsStrings.noSync)
    .option("-o, --out <file>", runsStrings.outOfFollowUp)
    .option("--detach", startStrings.detach);
  return withCommon(command, "simfleet runs undo r-20261120-103045-x7k2 --yes").action(async (runId, options) => {
    const output = context.output(options);
    const exitCode = await context.connect(options, (caller) =>
      undo(runId, {
        caller,
        context,
        output,
        given: options,
        syncs: options.sync,
        out: options.out,
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
  readonly out: string | undefined;
  readonly isDetached: boolean;
}

/** @throws SimfleetError RUN_STATE when there is nothing to undo; RESULTS_NOT_WRITABLE */
async function undo(
  runId: string,
  { caller, context, output, given, syncs, out, isDetached }: UndoOptions,
): Promise<number> {
  const { client, app } = caller;
  const { io } = context;
  const before = await client.call(showRun, { params: { runId } });
  const { profile } = before;
  if (!isDetached) await assertCanWrite(out ?? resultsPathOf(before));
  // Reports that there is nothing to undo before a useless sync.
  let plan = await client.call(planUndo, { params: { runId } });
  await app?.client(profile).whoAmI(io.interrupt);
  if (syncs) {
    // Without a terminal the confirmation may fail: do that before the sync.
    if (!isTerminal(io)) await confirmation(confirming(plan), given, io);
    output.say(runsStrings.syncing);
    await client.call(startSync, { query: { profile, restart: "true" } });
    const { report, exitCode } = await followSync({ ...caller, output, profile, interrupt: io.interrupt });
    if (report.state !== "finished") return exitCode;
    plan = await client.call(planUndo, { params: { runId } });
  }
  if (plan.costly > 0) output.say(`${costText(plan)}.`);
  const confirmed = await confirmation(confirming(plan), given, io);
  if (confirmed === undefined) {
    output.say(commonStrings.nothingStarted);
    return 2;
  }
  const report = await client.call(undoRun, { params: { runId }, body: confirmed });
  if (isDetached) {
    output.answer(report, (shown) => shown.runId);
    return 0;
  }
  output.say(runsStrings.restores(report.runId, plan, runId));
  return showToEnd({ caller, output, context, run: report, resultsPath: out ?? resultsPathOf(report) });
}

function confirming(plan: FollowUpPlan): Confirming {
  return { ...plan, question: undoQuestion(plan) };
}

export function undoQuestion({ calls, total }: Pick<FollowUpPlan, "calls" | "total">): string {
  if (calls === 0) return runsStrings.undoNothing(total);
  const question = runsStrings.undoQuestion(calls);
  const others = total - calls;
  return others > 0 ? `${question} (${runsStrings.undoLeaves(others)})` : question;
}
