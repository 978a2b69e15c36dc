/** `simfleet runs resume`: resumes a paused run. */
import { Command } from "@commander-js/extra-typings";
import { resumeRun, showRun } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { runText } from "./run-text.ts";
import { assertCanWrite } from "../results/results.ts";
import { resultsPathOf, showToEnd } from "./end-of-run.ts";
import { optionTexts } from "./operation-options.ts";

export function resumeCommand(context: Context): Command {
  const command = new Command("resume")
    .description("resume a run and follow it until it ends")
    .argument("<run>", "ID of the run")
    .option("-o, --out <file>", optionTexts.out)
    .option("--detach", "return immediately");
  return withCommon(command, "simfleet runs resume r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const exitCode = await context.connect(options, async (caller) => {
      const { client, app } = caller;
      if (options.detach === true) {
        output.answer(await client.call(resumeRun, { params: { runId } }), (shown) => runText(shown));
        return 0;
      }
      const report = await client.call(showRun, { params: { runId } });
      const resultsPath = options.out ?? resultsPathOf(report);
      await assertCanWrite(resultsPath);
      await app?.client(report.profile).whoAmI(context.io.interrupt);
      await client.call(resumeRun, { params: { runId } });
      return showToEnd({ caller, output, context, run: report, resultsPath });
    });
    context.io.setExitCode(exitCode);
  }) as unknown as Command;
}
