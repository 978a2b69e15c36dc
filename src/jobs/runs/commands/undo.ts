/** `simfleet runs undo`: syncs, then restores what a run changed, except for SIMs changed since. */
import type { Command } from "@commander-js/extra-typings";
import { startSync } from "#jobs/inventory/contract.ts";
import { type Changed, type FollowUpPlan, changedText, planUndo, showRun, undoRun } from "../contract.ts";
import { type Context, isTerminal, withCommon } from "#cli/context.ts";
import { assertCanWrite } from "../results/results.ts";
import { resultsPathOf, startAsked } from "./end-of-run.ts";
import { type Confirming, confirmation, costText } from "./confirmation.ts";
import { counted, grouped } from "#cli/format.ts";
import { followUpCommand } from "./operation-options.ts";

export function undoCommand(context: Context): Command {
  const command = followUpCommand(
    "undo",
    "Start a new run that restores the previous values; SIMs changed since are left as they are",
  ).option("--no-sync", "use the inventory as it is, without syncing first");
  return withCommon(command, "simfleet runs undo r-20261120-103045-x7k2 --yes").action(async (runId, options) => {
    const { io } = context;
    await context.connect(options, async (caller) => {
      const { client, app, output } = caller;
      const before = await client.call(showRun, { params: { runId } });
      const { profile } = before;
      if (options.detach !== true) await assertCanWrite(options.out ?? resultsPathOf(before));
      // Reports that there is nothing to undo before a useless sync.
      let plan = await client.call(planUndo, { params: { runId } });
      await app?.kernel.client(profile).whoAmI(io.interrupt);
      if (options.sync) {
        // Without a terminal the confirmation may fail: do that before the sync.
        if (!isTerminal(io) && plan.calls > 0) await confirmation(confirming(plan), options, io);
        output.say("Syncing first, so that later changes are not overwritten …");
        const sync = await client.call(startSync, { query: { profile, restart: "true" } });
        const { followSync } = await import("#jobs/inventory/commands/sims.ts");
        const synced = await followSync(sync.profile, caller, io.interrupt);
        if (synced.report.state !== "finished") return synced.exitCode;
        plan = await client.call(planUndo, { params: { runId } });
      }
      // It says why there is nothing to restore.
      if (plan.calls === 0) await client.call(undoRun, { params: { runId } });
      for (const text of [...plan.warnings, costText(plan)]) if (text !== "") output.say(`${text}.`);
      const { calls, total } = plan;
      const rows = calls === total ? counted(total, "row") : `${grouped(calls)} of ${counted(total, "row")}`;
      return startAsked(caller, context, {
        about: confirming(plan),
        options,
        start: (confirmed) => client.call(undoRun, { params: { runId }, body: confirmed }),
        startedText: (undo) => `Run ${undo.runId} restores ${rows} of ${runId}.`,
        resultsPathOf,
      });
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
