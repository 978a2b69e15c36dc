/** `simfleet authkeys rotate`: replaces the AuthKey in use by a new one, while calls continue. */
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import type { AuthKeyRotationReport } from "../contract.ts";
import { type Caller, type Context, confirm, withCommon } from "#cli/context.ts";
import { followAuthKey } from "./follow-auth-key.ts";
import type { Output } from "#cli/output.ts";

export function rotateCommand(context: Context): Command {
  const command = new Command("rotate")
    .description("create an AuthKey, deliver it to its sinks, and revoke the old one once it is unused")
    .option("--replace <id>", "revoke this AuthKey first, if the user already has two")
    .option("-y, --yes", "skip the confirmation; required without a terminal")
    .option("--wait", "wait until the old AuthKey is revoked, which can take a day")
    .option("--detach", "leave it to a worker and return immediately");
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
  const oldId = oldAuthKeyId ?? "in use";
  if (isInProgress) output.say(`Resuming the rotation of ${oldId}.`);
  else if (!flags.isAgreed) {
    const question =
      replace === undefined
        ? `Replace the AuthKey ${oldId} of ${profile}?`
        : `Revoke ${replace}, then replace the AuthKey ${oldId} of ${profile}?`;
    if (!(await confirm(context.io, question))) return 1;
  }
  const body = replace === undefined ? undefined : { replace };
  const begun = await client.call(routes.rotateAuthKey, { query: { profile }, body });
  if (flags.isDetached) {
    output.answer(begun, (shown) => shown.rotationId);
    // A remote worker carries rotations out itself.
    const isServed = app === undefined || (await app.authKeys.isServed(profile));
    if (!isServed) {
      output.say(
        "No worker is running: the rotation starts with the next one (simfleet worker), or with: simfleet authkeys rotate",
      );
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
  const needsWorker = report.state === "active" && !interrupt.aborted && app !== undefined;
  if (needsWorker && !(await app.authKeys.isServed(profile))) {
    output.say(
      "No worker is running: start one (simfleet worker), or revoke later with: simfleet authkeys rotate --wait",
    );
  }
  return exitCode;
}

function rotationText({ state, oldAuthKeyId, newAuthKeyId, reason, now, revokesAt }: AuthKeyRotationReport): string {
  if (state === "done") return `${newAuthKeyId} is in use, and ${oldAuthKeyId} is revoked.`;
  if (state === "failed")
    return `The rotation was rolled back, and ${oldAuthKeyId ?? "the old AuthKey"} stays in use: ${reason}`;
  if (revokesAt !== null)
    return `${newAuthKeyId} is in use. ${oldAuthKeyId ?? "The old AuthKey"} will be revoked at ${revokesAt} if it stays unused until then.`;
  return `In progress: ${now}`;
}
