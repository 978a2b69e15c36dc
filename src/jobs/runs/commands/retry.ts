/** `simfleet runs retry`: redoes rows of a run, as a new run. */
import { Command } from "@commander-js/extra-typings";
import type { Outcome } from "#fleet/run.ts";
import { retryRun, type RunReport, showRun } from "../contract.ts";
import { retriedByDefault } from "../retry.ts";
import { type Context, asCount, confirm, withCommon } from "#cli/context.ts";
import { grouped } from "#cli/output.ts";
import { showToEnd } from "./apply.ts";
import { outcomeOption } from "./outcome-option.ts";

export function retryCommand(context: Context): Command {
  const command = new Command("retry")
    .description("retry failed and cancelled rows in a new run")
    .argument("<run>", "id of a finished run")
    .addOption(outcomeOption("retry rows with this outcome instead; repeatable"))
    .option("--yes", "skip the confirmation; required without a terminal")
    .option("--confirm <n>", "number of SIMs of an irreversible operation, beside --yes", asCount)
    .option("--detach", "submit the run, print its id and return");
  return withCommon(command, "simfleet runs retry r-20261120-103045-x7k2 --yes").action(async (ofRunId, options) => {
    const output = context.output(options);
    const { outcome: outcomes, detach } = options;
    const exitCode = await context.connect(options, async (caller) => {
      const { client, app } = caller;
      const before = await client.call(showRun, { params: { runId: ofRunId } });
      if (detach !== true) await app?.client(before.profile).whoAmI(context.io.interrupt);
      const rows = rowsOf(before, outcomes);
      // Without any, the service throws with the reason.
      if (options.yes !== true && rows > 0) {
        const what = `${grouped(rows)} ${rows === 1 ? "row" : "rows"}`;
        if (!(await confirm(context.io, `Send ${what} of ${ofRunId} again?`))) {
          output.say("Nothing was started.");
          return 2;
        }
      }
      const report = await client.call(retryRun, {
        params: { runId: ofRunId },
        body: {
          ...(outcomes === undefined ? {} : { outcomes: [...outcomes] }),
          ...(options.confirm === undefined ? {} : { confirm: options.confirm }),
        },
      });
      const { runId, counts } = report;
      if (detach === true) {
        output.answer(report, (printed) => printed.runId);
        return 0;
      }
      output.say(`Run ${runId} retries ${counts.total} rows of ${ofRunId}.`);
      return showToEnd({ caller, output, context, runId });
    });
    context.io.setExitCode(exitCode);
  }) as unknown as Command;
}

function rowsOf({ counts }: RunReport, outcomes: readonly Outcome[] = retriedByDefault): number {
  return [...new Set(outcomes)].reduce((sum, outcome) => sum + counts[outcome], 0);
}
