/** `simfleet credentials rotate`: gives a Credential Set a new secret, and shows it being done. */
import { Command } from "@commander-js/extra-typings";
import { SimfleetError } from "#core/errors.ts";
import { type Context, confirm, withCommon } from "../../context.ts";
import { followRotation } from "../../follow-rotation.ts";
import { standingText, waitText } from "../../rotation-text.ts";

export function rotateCommand(context: Context): Command {
  const command = new Command("rotate")
    .description("rotate a secret, or go on with its rotation; returns when it is done or waits for hours or a person")
    .argument("<name>", "name of the rotation in the configuration")
    .option("--yes", "do not ask")
    .option("--detach", "leave it to a worker and return at once");
  return withCommon(command, "simfleet credentials rotate mqtt-psk").action(async (name, options) => {
    const output = context.output(options);
    const config = context.config(options);
    const { surroundings } = context;
    const { interrupt } = surroundings;
    const exitCode = await context.withApp(config, async (app) => {
      const { profile, strategy, credentialsId } = app.credentials.rotation(name);
      if (options.profile !== undefined && options.profile !== profile) {
        throw new SimfleetError(
          "USAGE",
          `the rotation ${name} is of the profile ${profile}, not of ${options.profile}`,
        );
      }
      const present = await app.credentials.report(name);
      if (present.nextStep === null && options.yes !== true) {
        const what = strategy === "successor" ? "a successor of" : "a new secret for";
        if (!(await confirm(surroundings, `Make ${what} ${credentialsId}, and hand it to its sinks?`))) return 1;
      }
      const begun = await app.credentials.rotate(name, interrupt);
      if (present.nextStep !== null) output.say(`Going on with the rotation of ${begun.startedAt ?? ""}.`);
      if (options.detach === true) {
        output.answer(begun, () => begun.rotationId ?? "");
        if (!(await app.credentials.isServed(profile))) {
          output.say(`No worker is up: the rotation goes on when one starts (simfleet worker)`);
        }
        return 0;
      }
      const { report, exitCode: code } = await followRotation({ app, output, name, profile, interrupt });
      output.answer(report, () => standingText(report));
      if (report.nextStep !== null) {
        output.say(waitText(report));
        if (!(await app.credentials.isServed(profile))) {
          output.say(`No worker is up: run simfleet worker, or come back with simfleet credentials rotate ${name}`);
        }
      }
      return code;
    });
    surroundings.setExitCode(exitCode);
  }) as unknown as Command;
}
