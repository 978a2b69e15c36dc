/** `simfleet authkeys …`: the AuthKeys of the user that a profile authenticates as. */
import { Command } from "@commander-js/extra-typings";
import { type AuthKeyReport, listAuthKeys } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { table } from "#cli/output.ts";
import { rotateCommand } from "./rotate.ts";

export function authKeysCommand(context: Context): Command {
  return new Command("authkeys").addCommand(listCommand(context)).addCommand(rotateCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list").description(
    "list AuthKeys with their age and who uses them; never shows a secret",
  );
  return withCommon(command, "simfleet authkeys list").action(async (options) => {
    const output = context.output(options);
    const page = await context.connect(options, ({ client, profile }) =>
      client.call(listAuthKeys, { query: { profile } }),
    );
    const { rotation } = page;
    output.answer(page, (shown) => keyTable(shown.authKeys));
    if (rotation !== null && rotation.now !== null && !output.isJson) {
      output.say(`The rotation ${rotation.rotationId} is in progress: ${rotation.now}`);
    }
  });
}

function keyTable(keys: readonly AuthKeyReport[]): string {
  if (keys.length === 0) return "The user has no AuthKey.";
  const rows = keys.map(({ authKeyId, ageDays, lastUsedAt, configured, usedBy }) => [
    authKeyId,
    ageDays === null ? "?" : `${ageDays} d`,
    lastUsedAt ?? "-",
    configured ?? "-",
    usedBy.join(", ") || "-",
  ]);
  return table(["AUTHKEY", "AGE", "LAST USED", "CONFIGURED", "USED BY"], rows);
}
