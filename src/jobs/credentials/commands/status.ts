/** `simfleet credentials status`: the status of every rotation. */
import { Command } from "@commander-js/extra-typings";
import { listRotations, type RotationReport } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { table } from "#cli/output.ts";
import { rotationStatusText } from "./rotation-text.ts";
import { ageText, referencesText } from "./columns.ts";

export function statusCommand(context: Context): Command {
  const command = new Command("status").description(
    "list rotations: state, age of the secret, last use, next step, references",
  );
  return withCommon(command, "simfleet credentials status --json").action(async (options) => {
    const output = context.output(options);
    // Of all profiles, unless the command names one.
    const status = await context.connect(options, ({ client }) =>
      client.call(listRotations, { query: { profile: options.profile } }),
    );
    output.answer(status, (shown) => statusText(shown.rotations));
    for (const [profile, reason] of Object.entries(status.unknown)) {
      output.say(`The Credential Sets of ${profile} could not be read: ${reason}`);
    }
  });
}

function statusText(rotations: readonly RotationReport[]): string {
  if (rotations.length === 0) return "No rotation is configured (rotations: in the configuration).";
  const rows = rotations.map(({ name, state, credentialsId, rotatedAt, lastUsedAt, nextAt, references }) => [
    ...[name, state, credentialsId ?? "-", ageText(rotatedAt), lastUsedAt ?? "-", nextAt ?? "-"],
    credentialsId === null ? "-" : referencesText(references),
  ]);
  const waiting = rotations.filter(({ reason, nextStep }) => reason !== null || nextStep !== null);
  const words = waiting.map((report) => `\n${rotationStatusText(report)}`);
  return `${table(["ROTATION", "STATE", "SET", "AGE", "LAST USED", "NEXT", "NAMED BY"], rows)}${words.join("")}`;
}
