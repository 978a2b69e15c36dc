/** `simfleet credentials confirm`: a person confirms that nothing references the old set any more. */
import { Command } from "@commander-js/extra-typings";
import { confirmRotation } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { rotationStatusText } from "./rotation-text.ts";

export function confirmCommand(context: Context): Command {
  const command = new Command("confirm")
    .description("confirm that the old set is no longer referenced; its grace period then starts")
    .argument("<name>", "name of the rotation in the configuration");
  return withCommon(command, "simfleet credentials confirm mqtt-psk").action(async (name, options) => {
    const output = context.output(options);
    await context.connect(options, async ({ client, app }) => {
      const report = await client.call(confirmRotation, { params: { name } });
      output.answer(report, (shown) => rotationStatusText(shown));
      // A remote worker carries rotations out itself.
      const isServed = app === undefined || (await app.credentials.isServed(report.profile));
      if (!isServed) {
        output.say(`No worker is running: run simfleet worker, or resume with simfleet credentials rotate ${name}`);
      }
    });
  }) as unknown as Command;
}
