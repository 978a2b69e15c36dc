/** `simfleet credentials rotate`: gives a Credential Set a new secret, and shows the progress. */
import { Command } from "@commander-js/extra-typings";
import { SimfleetError } from "#core/errors.ts";
import * as routes from "../contract.ts";
import { type Caller, type Context, confirm, withCommon } from "#cli/context.ts";
import { followRotation } from "./follow-rotation.ts";
import type { Output } from "#cli/output.ts";
import { rotationStatusText, waitText } from "./rotation-text.ts";

export function rotateCommand(context: Context): Command {
  const command = new Command("rotate")
    .description(
      "rotate a secret or resume its rotation; returns when it is done or has to wait for its grace period or a confirmation",
    )
    .argument("<name>", "name of the rotation in the configuration")
    .option("-y, --yes", "skip the confirmation; required without a terminal")
    .option("--detach", "leave it to a worker and return immediately");
  return withCommon(command, "simfleet credentials rotate mqtt-psk").action(async (name, options) => {
    const output = context.output(options);
    const flags = { profile: options.profile, isAgreed: options.yes === true, isDetached: options.detach === true };
    const exitCode = await context.connect(options, (caller) => rotate(caller, { name, output, context, flags }));
    context.io.setExitCode(exitCode);
  }) as unknown as Command;
}

async function rotate(
  caller: Caller,
  deps: {
    name: string;
    output: Output;
    context: Context;
    flags: { profile: string | undefined; isAgreed: boolean; isDetached: boolean };
  },
): Promise<number> {
  const { client, app } = caller;
  const { name, output, context, flags } = deps;
  const params = { name };
  const { profile, nextStep, strategy, credentialsId } = await client.call(routes.showRotation, { params });
  if (flags.profile !== undefined && flags.profile !== profile) {
    throw new SimfleetError("USAGE", `the rotation ${name} belongs to the profile ${profile}, not to ${flags.profile}`);
  }
  if (nextStep === null && !flags.isAgreed) {
    const question =
      strategy === "successor"
        ? (set: string) => `Create a successor of ${set} and deliver it to its sinks?`
        : (set: string) => `Create a new secret for ${set} and deliver it to its sinks?`;
    if (!(await confirm(context.io, question(credentialsId ?? name)))) return 1;
  }
  const begun = await client.call(routes.rotateCredentials, { params });
  // A remote worker carries rotations out itself.
  const isServed = async (): Promise<boolean> => app === undefined || app.credentials.isServed(profile);
  if (nextStep !== null) output.say(`Resuming the rotation of ${begun.startedAt ?? ""}.`);
  if (flags.isDetached) {
    output.answer(begun, (shown) => shown.rotationId ?? "");
    if (!(await isServed())) {
      output.say("No worker is running: the rotation continues with the next one (simfleet worker)");
    }
    return 0;
  }
  const { interrupt } = context.io;
  const { report, exitCode } = await followRotation(caller, { name, profile, output, interrupt });
  output.answer(report, (shown) => rotationStatusText(shown));
  if (report.nextStep !== null) {
    output.say(waitText(report));
    if (!(await isServed())) {
      output.say(`No worker is running: run simfleet worker, or resume later with simfleet credentials rotate ${name}`);
    }
  }
  return exitCode;
}
