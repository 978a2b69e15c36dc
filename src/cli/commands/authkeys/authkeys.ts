/** `simfleet authkeys …`: the AuthKeys of the user that a profile authenticates as. */
import { Command } from "@commander-js/extra-typings";
import type { AuthKeyReport, AuthKeyRotationReport } from "#jobs/authkeys/report.ts";
import { type Context, withCommon } from "../../context.ts";
import { table } from "../../output.ts";
import { rotateCommand } from "./rotate.ts";

export function authKeysCommand(context: Context): Command {
  return new Command("authkeys")
    .description("list and rotate the account's AuthKeys")
    .addCommand(listCommand(context))
    .addCommand(rotateCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list").description(
    "list AuthKeys with their age and who uses them; never shows a secret",
  );
  return withCommon(command, "simfleet authkeys list").action(async (options) => {
    const output = context.output(options);
    const page = await context.ask<AuthKeyPage>(options, {
      here: async (app, { profile }) => ({
        authKeys: await app.authKeys.list(profile),
        nextCursor: null,
        rotation: (await app.authKeys.report(profile)) ?? null,
      }),
      there: (worker) => worker.get<AuthKeyPage>("/v1/authkeys", worker.ofProfile()),
    });
    const { rotation } = page;
    output.answer(page, (shown) => keyTable(shown.authKeys));
    if (rotation !== null && rotation.now !== null && !output.isJson) {
      output.say(`The rotation ${rotation.rotationId} is in progress: ${rotation.now}`);
    }
  });
}

/** As `authkeys list --json` and GET /v1/authkeys give it. */
interface AuthKeyPage {
  readonly authKeys: AuthKeyReport[];
  readonly nextCursor: null;
  readonly rotation: AuthKeyRotationReport | null;
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
