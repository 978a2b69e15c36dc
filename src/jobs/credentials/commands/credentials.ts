/** `simfleet credentials …`: the account's Credential Sets and their rotation. */
import { Command } from "@commander-js/extra-typings";
import { listCredentials, type SetReport } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, withListOptions } from "#cli/list.ts";
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
  const command = withListOptions(
    new Command("list").description("list the account's Credential Sets: age, last use, references"),
  );
  return withCommon(command, "simfleet credentials list").action(async (options) => {
    const output = context.output(options);
    const page = await context.connect(options, ({ client, profile }) =>
      client.call(listCredentials, { query: { profile } }),
    );
    answerList(output, page, setList, options);
  });
}

const setList: List<"credentials", SetReport> = {
  name: "credentials",
  route: listCredentials,
  empty: "The account has no Credential Set.",
  columns: [
    { name: "credentialsId" },
    { name: "type" },
    { name: "age", value: ({ updatedAt, createdAt }) => ageText(updatedAt ?? createdAt) },
    { name: "lastUsedAt", heading: "last used" },
    { name: "rotation" },
    {
      name: "references",
      heading: "referenced by",
      value: ({ references }) => referencesText(references),
    },
  ],
};
