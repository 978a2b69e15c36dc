/** `simfleet credentials status`: the status of every rotation. */
import { Command } from "@commander-js/extra-typings";
import type { RotationReport } from "#jobs/credentials/report.ts";
import { type Context, withCommon } from "../../context.ts";
import { table } from "../../output.ts";
import { rotationStatusText } from "../../rotation-text.ts";
import { ageText, referencesText } from "./columns.ts";

export function statusCommand(context: Context): Command {
  const command = new Command("status").description(
    "list rotations: state, age of the secret, last use, next step, references",
  );
  return withCommon(command, "simfleet credentials status --json").action(async (options) => {
    const output = context.output(options);
    const { rotations, unknown } = await context.ask(options, {
      here: (app, { profile, profiles }) => {
        const asked = options.profile === undefined ? Object.keys(profiles) : [profile];
        return app.credentials.status(asked, context.io.interrupt);
      },
      there: (worker) => worker.get<Standing>("/v1/rotations", { profile: options.profile }),
    });
    output.answer({ rotations, unknown }, (shown) => statusText(shown.rotations));
    for (const [profile, reason] of Object.entries(unknown)) {
      output.say(`The Credential Sets of ${profile} could not be read: ${reason}`);
    }
  });
}

interface Standing {
  readonly rotations: RotationReport[];
  readonly unknown: Record<string, string>;
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
