/** `simfleet authkeys …`: the AuthKeys of the user that a profile authenticates as. */
import { Command } from "@commander-js/extra-typings";
import { type AuthKeyReport, listAuthKeys } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, withListOptions } from "#cli/list.ts";
import { rotateCommand } from "./rotate.ts";

export function authKeysCommand(context: Context): Command {
  return new Command("authkeys").addCommand(listCommand(context)).addCommand(rotateCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list").description(
    "list AuthKeys with their age and who uses them; never shows a secret",
  );
  return withCommon(withListOptions(command), "simfleet authkeys list").action(async (options) => {
    const output = context.output(options);
    const page = await context.connect(options, ({ client, profile }) =>
      client.call(listAuthKeys, { query: { profile } }),
    );
    const { rotation } = page;
    answerList(output, page, keyList, options);
    if (rotation !== null && rotation.now !== null && !output.isJson) {
      output.say(`The rotation ${rotation.rotationId} is in progress: ${rotation.now}`);
    }
  });
}

const keyList: List<"authKeys", AuthKeyReport> = {
  name: "authKeys",
  route: listAuthKeys,
  empty: "The user has no AuthKey.",
  columns: [
    { name: "authKeyId", heading: "authkey" },
    {
      name: "ageDays",
      heading: "age",
      value: ({ ageDays }) => (ageDays === null ? "?" : `${ageDays} d`),
    },
    { name: "lastUsedAt", heading: "last used" },
    { name: "configured" },
    { name: "usedBy" },
  ],
};
