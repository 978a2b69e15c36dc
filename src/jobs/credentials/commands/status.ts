/** `simfleet credentials status`: the status of every rotation. */
import { Command } from "@commander-js/extra-typings";
import { listRotations, type RotationReport } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, withListOptions } from "#cli/list.ts";
import { rotationStatusText } from "./rotation-text.ts";
import { ageText, referencesText } from "./columns.ts";

export function statusCommand(context: Context): Command {
  const command = new Command("status").description(
    "list rotations: state, age of the secret, last use, next step, references",
  );
  return withCommon(withListOptions(command), "simfleet credentials status --json").action(async (options) => {
    const output = context.output(options);
    // Of all profiles, unless the command names one.
    const status = await context.connect(options, ({ client }) =>
      client.call(listRotations, { query: { profile: options.profile } }),
    );
    answerList(output, status, rotationList, options);
    for (const [profile, reason] of Object.entries(status.unknown)) {
      output.say(`The Credential Sets of ${profile} could not be read: ${reason}`);
    }
  });
}

const rotationList: List<"rotations", RotationReport> = {
  name: "rotations",
  route: listRotations,
  empty: "No rotations. Add them under `rotations` in the configuration (docs/credentials.md).",
  columns: [
    { name: "name", heading: "rotation" },
    { name: "state" },
    { name: "credentialsId", heading: "set" },
    { name: "age", value: ({ rotatedAt }) => ageText(rotatedAt) },
    { name: "lastUsedAt", heading: "last used" },
    { name: "nextAt", heading: "next" },
    {
      name: "references",
      heading: "referenced by",
      value: ({ credentialsId, references }) => (credentialsId === null ? "-" : referencesText(references)),
    },
  ],
  below: (rotations) =>
    rotations.filter(({ reason, nextStep }) => reason !== null || nextStep !== null).map(rotationStatusText),
};
