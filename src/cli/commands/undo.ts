/** `simfleet runs undo`: reads the fleet, then puts back what a run changed and nobody has changed since. */
import { Command } from "@commander-js/extra-typings";
import { type Context, confirm, withCommon } from "../context.ts";
import { followSync } from "../follow-sync.ts";
import { grouped } from "../output.ts";
import { showToEnd } from "./apply.ts";

export function undoCommand(context: Context): Command {
  const command = new Command("undo")
    .description("put back what a run changed, where the SIM still has what the run gave it, as a new run")
    .argument("<run>", "the id of the run that is over")
    .option("--yes", "start without asking on a terminal")
    .option("--no-sync", "go by the inventory as it is, without reading the fleet first")
    .option("--detach", "submit the run, print its id and return");
  return withCommon(command, "simfleet runs undo r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const { interrupt, stdin } = context.surroundings;
    const exitCode = await context.withApp(context.config(options), async (app) => {
      const { profile } = await app.desk.record(runId);
      const undo = await app.desk.planUndo(runId, app.wordingOf(profile));
      await app.client(profile).whoAmI(interrupt);
      if (options.sync) {
        output.say("Reading the fleet first, so that what was changed since is left alone …");
        await app.sims.sync(profile, "anew");
        const { report, exitCode: code } = await followSync({ app, output, profile, interrupt });
        if (report.state !== "finished") return code;
      }
      if (options.yes !== true && stdin.isTTY === true) {
        const question = `Put back up to ${grouped(undo.total)} ${undo.total === 1 ? "SIM" : "SIMs"}?`;
        if (!(await confirm(context.surroundings, question))) return 2;
      }
      const report = await app.desk.undo(runId, app.wordingOf(profile));
      if (options.detach === true) {
        output.answer(report, () => report.runId);
        return 0;
      }
      output.say(`Run ${report.runId} puts back ${grouped(report.counts.total)} rows of ${runId}.`);
      return showToEnd({ app, output, context, runId: report.runId });
    });
    context.surroundings.setExitCode(exitCode);
  }) as unknown as Command;
}
