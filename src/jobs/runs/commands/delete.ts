/** `simfleet runs delete`: removes a run that is over from Redis. */
import { Command } from "@commander-js/extra-typings";
import { type Context, confirm, withCommon } from "#cli/context.ts";
import { deleteRun, showRun } from "../contract.ts";
import { counted } from "#cli/format.ts";

export function deleteCommand(context: Context): Command {
  const command = new Command("delete")
    .description("delete a finished run with its rows and results")
    .argument("<run>", "ID of the run")
    .option("-y, --yes", "skip the confirmation; required without a terminal");
  return withCommon(command, "simfleet runs delete r-20261120-103045-x7k2 --yes").action(async (runId, options) => {
    const output = context.output(options);
    await context.connect(options, async ({ client }) => {
      const { name, counts } = await client.call(showRun, { params: { runId } });
      const question = `Delete ${runId} (${name}) and the results of its ${counted(counts.total, "row")}? They cannot be restored.`;
      if (options.yes !== true && !(await confirm(context.io, question))) {
        output.say("Nothing was deleted.");
        context.io.setExitCode(2);
        return;
      }
      await client.call(deleteRun, { params: { runId } });
      output.answer({ runId, deleted: true }, () => `Deleted ${runId}.`);
    });
  }) as unknown as Command;
}
