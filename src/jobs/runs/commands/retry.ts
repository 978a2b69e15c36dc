/** `simfleet runs retry`: redoes rows of a run, as a new run. */
import { Command } from "@commander-js/extra-typings";
import { SimfleetError } from "#core/errors.ts";
import type { Outcome } from "#fleet/run.ts";
import { planRetry, retryRun, type RunReport, showRun } from "../contract.ts";
import { type Context, asCount, withCommon } from "#cli/context.ts";
import { assertCanWrite } from "../results/results.ts";
import { resultsPathOf, showToEnd } from "./end-of-run.ts";
import { confirmation, costText } from "./confirmation.ts";
import { outcomeOption } from "./results.ts";
import { counted } from "#cli/format.ts";
import { optionTexts } from "./operation-options.ts";

export function retryCommand(context: Context): Command {
  const command = new Command("retry")
    .description("retry failed and cancelled rows in a new run")
    .argument("<run>", "ID of the finished run")
    .addOption(outcomeOption("retry rows with this outcome instead; repeatable"))
    .option("-y, --yes", "skip the confirmation; required without a terminal")
    .option("--confirm <n>", optionTexts.confirm, asCount)
    .option("-o, --out <file>", optionTexts.out)
    .option("--detach", "submit the run, print its ID and return");
  return withCommon(command, "simfleet runs retry r-20261120-103045-x7k2 --yes").action(async (ofRunId, options) => {
    const output = context.output(options);
    const { outcome: outcomes, detach, out } = options;
    const exitCode = await context.connect(options, async (caller) => {
      const { client, app } = caller;
      const before = await client.call(showRun, { params: { runId: ofRunId } });
      if (detach !== true) await assertCanWrite(out ?? resultsPathOf(before));
      assertSomeRetried(before, outcomes);
      if (detach !== true) await app?.client(before.profile).whoAmI(context.io.interrupt);
      const plan = await client.call(planRetry, {
        params: { runId: ofRunId },
        query: { outcome: outcomes === undefined ? undefined : [...outcomes] },
      });
      if (plan.costly > 0) output.say(`${costText(plan)}.`);
      const question = `Send ${counted(plan.total, "row")} of ${ofRunId} again?`;
      const confirmed = await confirmation({ ...plan, question }, options, context.io);
      if (confirmed === undefined) {
        output.say("Nothing was started.");
        return 2;
      }
      const report = await client.call(retryRun, {
        params: { runId: ofRunId },
        body: { ...(outcomes === undefined ? {} : { outcomes: [...outcomes] }), ...confirmed },
      });
      const { runId, counts } = report;
      if (detach === true) {
        output.answer(report, (printed) => printed.runId);
        return 0;
      }
      output.say(`Run ${runId} retries ${counted(counts.total, "row")} of ${ofRunId}.`);
      return showToEnd({ caller, output, context, run: report, resultsPath: out ?? resultsPathOf(report) });
    });
    context.io.setExitCode(exitCode);
  }) as unknown as Command;
}

/** Names the option that would retry something. @throws SimfleetError RUN_STATE */
function assertSomeRetried({ runId, finishedAt, counts }: RunReport, outcomes: readonly Outcome[] | undefined): void {
  if (outcomes !== undefined || finishedAt === null || counts.failed + counts.cancelled > 0) return;
  const other = (["rejected", "unknown"] as const).find((outcome) => counts[outcome] > 0);
  if (other === undefined) return;
  throw new SimfleetError(
    "RUN_STATE",
    `Run ${runId} has no failed or cancelled rows. To retry its ${other} rows, add --outcome ${other}`,
  );
}
