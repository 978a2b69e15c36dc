/** `simfleet credentials confirm`: a person's word that nothing names the old set any more. */
import { Command } from "@commander-js/extra-typings";
import { type Context, withCommon } from "../../context.ts";
import { standingText } from "../../rotation-text.ts";

export function confirmCommand(context: Context): Command {
  const command = new Command("confirm")
    .description("say that everything that named the old set names the new one; its grace then begins")
    .argument("<name>", "name of the rotation in the configuration");
  return withCommon(command, "simfleet credentials confirm mqtt-psk").action(async (name, options) => {
    const output = context.output(options);
    const config = context.config(options);
    await context.withApp(config, async (app) => {
      const report = await app.credentials.confirm(name);
      output.answer(report, () => standingText(report));
      if (!(await app.credentials.isServed(report.profile))) {
        output.say(`No worker is up: run simfleet worker, or go on with simfleet credentials rotate ${name}`);
      }
    });
  }) as unknown as Command;
}
