/** `simfleet credentials …`: the account's Credential Sets and their rotation. */
import { Command } from "@commander-js/extra-typings";
import { listCredentials, type SetReport } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { table } from "#cli/output.ts";
import { ageText, referencesText } from "./columns.ts";
import { confirmCommand } from "./confirm.ts";
import { rotateCommand } from "./rotate.ts";
import { statusCommand } from "./status.ts";

export function credentialsCommand(context: Context): Command {
  return new Command("credentials")
    .addCommand(listCommand(context))
    .addCommand(rotateCommand(context))
    .addCommand(confirmCommand(context))
    .addCommand(statusCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list").description("list the account's Credential Sets: age, last use, references");
  return withCommon(command, "simfleet credentials list").action(async (options) => {
    const output = context.output(options);
    const page = await context.connect(options, ({ client, profile }) =>
      client.call(listCredentials, { query: { profile } }),
    );
    output.answer(page, (shown) => listText(shown.credentials));
  });
}

function listText(sets: readonly SetReport[]): string {
  if (sets.length === 0) return "The account has no Credential Set.";
  const rows = sets.map(({ credentialsId, type, createdAt, updatedAt, lastUsedAt, references, rotation }) => [
    credentialsId,
    type ?? "-",
    ageText(updatedAt ?? createdAt),
    lastUsedAt ?? "-",
    rotation ?? "-",
    referencesText(references),
  ]);
  return table(["CREDENTIALS ID", "TYPE", "AGE", "LAST USED", "ROTATION", "NAMED BY"], rows);
}
