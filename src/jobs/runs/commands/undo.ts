/** `simfleet runs undo`: syncs, then restores what a run changed, except for SIMs changed since. */
import { Command } from "@commander-js/extra-typings";
import { startSync } from "#jobs/inventory/contract.ts";
import { type Changed, type FollowUpPlan, changedText, planUndo, showRun, undoRun } from "../contract.ts";
import { type Context, asCount, isTerminal, withCommon } from "#cli/context.ts";
import { followSync } from "#jobs/inventory/commands/sims.ts";
import { assertCanWrite } from "../results/results.ts";
import { resultsPathOf, showToEnd } from "./end-of-run.ts";
import { type Confirming, confirmation, costText } from "./confirmation.ts";
import { counted, grouped } from "#cli/format.ts";
import { optionTexts } from "./operation-options.ts";

const restoresText = (runId: string, { calls, total }: { calls: number; total: number }, ofRunId: string) => {
  const rows = calls === total ? counted(total, "row") : `${grouped(calls)} of ${counted(total, "row")}`;
  return `Run ${runId} restores ${rows} of ${ofRunId}.`;
};

export function undoCommand(context: Context): Command {
  const command = new Command("undo")
    .description("Start a new run that restores the previous values; SIMs changed since are left as they are")
    .argument("<run>", "ID of the finished run")
    .option("-y, --yes", "skip the confirmation; required without a terminal")
    .option("--confirm <n>", optionTexts.confirm, asCount)
    .option("--no-sync", "use the inventory as it is, without syncing first")
    .option("-o, --out <file>", optionTexts.out)
    .option("--detach", "submit the run, print its ID and return; needs a running worker");
  return withCommon(command, "simfleet runs undo r-20261120-103045-x7k2 --yes").action(async (runId, options) => {
    const { io } = context;
    const { out } = options;
    const isDetached = options.detach === true;
    await context.connect(options, async (caller) => {
      const { client, app, output } = caller;
      const before = await client.call(showRun, { params: { runId } });
      const { profile } = before;
      if (!isDetached) await assertCanWrite(out ?? resultsPathOf(before));
      // Reports that there is nothing to undo before a useless sync.
      let plan = await client.call(planUndo, { params: { runId } });
      await app?.kernel.client(profile).whoAmI(io.interrupt);
      if (options.sync) {
        // Without a terminal the confirmation may fail: do that before the sync.
        if (!isTerminal(io) && plan.calls > 0) await confirmation(confirming(plan), options, io);
        output.say("Syncing first, so that later changes are not overwritten …");
        const sync = await client.call(startSync, { query: { profile, restart: "true" } });
        const synced = await followSync(sync.profile, caller, io.interrupt);
        if (synced.report.state !== "finished") return synced.exitCode;
        plan = await client.call(planUndo, { params: { runId } });
      }
      // It says why there is nothing to restore.
      if (plan.calls === 0) await client.call(undoRun, { params: { runId } });
      for (const text of [...plan.warnings, costText(plan)]) if (text !== "") output.say(`${text}.`);
      const confirmed = await confirmation(confirming(plan), options, io);
      if (confirmed === undefined) {
        output.say("Nothing was started.");
        return 2;
      }
      const report = await client.call(undoRun, { params: { runId }, body: confirmed });
      if (isDetached) {
        output.answer(report, (shown) => shown.runId);
        return 0;
      }
      output.say(restoresText(report.runId, plan, runId));
      return showToEnd({ caller, context, run: report, resultsPath: out ?? resultsPathOf(report) });
    });
  }) as unknown as Command;
}

function confirming(plan: FollowUpPlan): Confirming {
  return { ...plan, question: undoQuestion(plan) };
}

export function undoQuestion(plan: Pick<FollowUpPlan, "calls" | "total"> & Changed): string {
  const { calls, total } = plan;
  const question = `${changedText(plan)}. Restore the previous state of ${counted(calls, "SIM")}?`;
  const others = total - calls;
  return others > 0
    ? `${question} (${others === 1 ? "1 other row stays as it is" : `${grouped(others)} other rows stay as they are`})`
    : question;
}
