/** `simfleet authkeys rotate`: replaces the AuthKey in use by a new one, under the calls that go on. */
import { Command } from "@commander-js/extra-typings";
import type { AuthKeyRotationReport } from "#runs/auth-key-report.ts";
import { type Context, confirm, withCommon } from "../../context.ts";
import { followAuthKey } from "../../follow-auth-key.ts";

export function rotateCommand(context: Context): Command {
  const command = new Command("rotate")
    .description("create an AuthKey, hand it to its sinks, and revoke the old one once nobody uses it")
    .option("--replace <id>", "revoke this AuthKey first, where both that a user can hold are taken")
    .option("--yes", "do not ask")
    .option("--detach", "leave it to a worker and return at once");
  return withCommon(command, "simfleet authkeys rotate --profile plant --yes").action(async (options) => {
    const output = context.output(options);
    const config = context.config(options);
    const { profile } = config;
    const { surroundings } = context;
    const exitCode = await context.withApp(config, async (app) => {
      const { oldId, goesOn } = await app.authKeys.plan(profile, options.replace);
      if (goesOn) output.say(`Going on with the rotation of ${oldId} that is under way.`);
      else if (options.yes !== true) {
        const first = options.replace === undefined ? "" : `Revoke ${options.replace}, then replace`;
        const isMeant = await confirm(surroundings, `${first || "Replace"} the AuthKey ${oldId} of ${profile}?`);
        if (!isMeant) return 1;
      }
      const begun = await app.authKeys.rotate(profile, options.replace);
      if (options.detach === true) {
        output.answer(begun, () => begun.rotationId);
        if (!(await app.authKeys.isServed(profile))) {
          output.say(
            "No worker rotates AuthKeys: it begins when one does (simfleet worker), or with: simfleet authkeys rotate",
          );
        }
        return 0;
      }
      const { report, exitCode: code } = await followAuthKey({
        ...{ app, output, profile, interrupt: surroundings.interrupt },
      });
      output.answer(report, () => rotationText(report));
      return code;
    });
    surroundings.setExitCode(exitCode);
  });
}

function rotationText({ state, oldAuthKeyId, newAuthKeyId, reason, now }: AuthKeyRotationReport): string {
  if (state === "done") return `${newAuthKeyId} is in use, and ${oldAuthKeyId} is revoked.`;
  if (state === "failed")
    return `The rotation was taken back, and ${oldAuthKeyId ?? "what was there"} stays: ${reason}`;
  return `Under way: ${now}`;
}
