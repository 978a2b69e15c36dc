/** `simfleet authkeys …`: the AuthKeys of the user that a profile authenticates as. */
import { Command } from "@commander-js/extra-typings";
import type { AuthKeyReport } from "#runs/auth-key-report.ts";
import { type Context, withCommon } from "../../context.ts";
import { table } from "../../output.ts";
import { rotateCommand } from "./rotate.ts";

export function authKeysCommand(context: Context): Command {
  return new Command("authkeys")
    .description("list the account's AuthKeys, and replace the one in use")
    .addCommand(listCommand(context))
    .addCommand(rotateCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list").description("the AuthKeys, how old each is, and who uses it; never a secret");
  return withCommon(command, "simfleet authkeys list").action(async (options) => {
    const output = context.output(options);
    const config = context.config(options);
    await context.withApp(config, async (app) => {
      const authKeys = await app.authKeys.list(config.profile);
      const rotation = (await app.authKeys.report(config.profile)) ?? null;
      output.answer({ authKeys, nextCursor: null, rotation }, () => keyTable(authKeys));
      if (rotation?.now !== undefined && rotation.now !== null && !output.isJson) {
        output.say(`The rotation ${rotation.rotationId} is under way: ${rotation.now}`);
      }
    });
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
