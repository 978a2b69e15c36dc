/** `simfleet authkeys rotate`: replaces the AuthKey in use by a new one, while calls continue. */
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import type { AuthKeyRotationReport } from "../contract.ts";
import { type Caller, type Context, confirm, withCommon } from "#cli/context.ts";
import { followAuthKey } from "./follow-auth-key.ts";
import type { Output } from "#cli/output.ts";
import { rotateStrings } from "../strings.ts";
import { commonStrings } from "#cli/strings.ts";

export function rotateCommand(context: Context): Command {
  const command = new Command("rotate")
    .description(rotateStrings.description)
    .option("--replace <id>", rotateStrings.replace)
    .option("-y, --yes", commonStrings.yes)
    .option("--wait", rotateStrings.wait)
    .option("--detach", commonStrings.detach);
  return withCommon(command, "simfleet authkeys rotate --profile plant --yes").action(async (options) => {
    const output = context.output(options);
    const { replace } = options;
    const flags = {
      replace,
      isAgreed: options.yes === true,
      isDetached: options.detach === true,
      untilRevoked: options.wait === true,
    };
    const exitCode = await context.connect(options, (caller) => rotate(caller, { context, output, flags }));
    context.io.setExitCode(exitCode);
  });
}

async function rotate(
  caller: Caller,
  deps: {
    context: Context;
    output: Output;
    flags: { replace: string | undefined; isAgreed: boolean; isDetached: boolean; untilRevoked: boolean };
  },
): Promise<number> {
  const { client, profile: named, app } = caller;
  const { context, output, flags } = deps;
  const { replace } = flags;
  const plan = await client.call(routes.planAuthKeyRotation, { query: { profile: named, replace } });
  const { profile, oldAuthKeyId, isInProgress } = plan;
  const oldId = oldAuthKeyId ?? rotateStrings.keyInUse;
  if (isInProgress) output.say(rotateStrings.resuming(oldId));
  else if (!flags.isAgreed) {
    const question =
      replace === undefined
        ? rotateStrings.question(oldId, profile)
        : rotateStrings.questionWithReplace(replace, oldId, profile);
    if (!(await confirm(context.io, question))) return 1;
  }
  const body = replace === undefined ? undefined : { replace };
  const begun = await client.call(routes.rotateAuthKey, { query: { profile }, body });
  if (flags.isDetached) {
    output.answer(begun, (shown) => shown.rotationId);
    // A remote worker carries rotations out itself.
    const isServed = app === undefined || (await app.authKeys.isServed(profile));
    if (!isServed) {
      output.say(rotateStrings.detachedNeedsWorker);
    }
    return 0;
  }
  const { interrupt } = context.io;
  const { report, exitCode } = await followAuthKey(caller, {
    profile,
    output,
    interrupt,
    untilRevoked: flags.untilRevoked,
  });
  output.answer(report, (shown) => rotationText(shown));
  const needsWorker = report.state === "taken-up" && !interrupt.aborted && app !== undefined;
  if (needsWorker && !(await app.authKeys.isServed(profile))) {
    output.say(rotateStrings.revocationNeedsWorker);
  }
  return exitCode;
}

function rotationText({ state, oldAuthKeyId, newAuthKeyId, reason, now, revokesAt }: AuthKeyRotationReport): string {
  if (state === "done") return rotateStrings.done(newAuthKeyId, oldAuthKeyId);
  if (state === "failed") return rotateStrings.failed(oldAuthKeyId, reason);
  if (revokesAt !== null) return rotateStrings.revokesLater(newAuthKeyId, oldAuthKeyId, revokesAt);
  return rotateStrings.inProgress(now);
}
