/** `simfleet runs delete`: removes a run that is over from Redis. */
import { Command } from "@commander-js/extra-typings";
import { type Context, confirm, withCommon } from "#cli/context.ts";
import { deleteRun, showRun } from "../contract.ts";
import { runsStrings } from "../strings.ts";
import { commonStrings } from "#cli/strings.ts";

export function deleteCommand(context: Context): Command {
  const command = new Command("delete")
    .description(runsStrings.delete)
    .argument("<run>", runsStrings.run)
    .option("-y, --yes", commonStrings.yes);
  return withCommon(command, "simfleet runs delete r-20261120-103045-x7k2 --yes").action(async (runId, options) => {
    const output = context.output(options);
    await context.connect(options, async ({ client }) => {
      const { name, counts } = await client.call(showRun, { params: { runId } });
      const question = runsStrings.deleteQuestion(runId, name, counts.total);
      if (options.yes !== true && !(await confirm(context.io, question))) {
        output.say(runsStrings.nothingDeleted);
        context.io.setExitCode(2);
        return;
      }
      await client.call(deleteRun, { params: { runId } });
      output.answer({ runId, deleted: true }, () => runsStrings.deleted(runId));
    });
  }) as unknown as Command;
}
