/** `simfleet tokens …`: bearer tokens of the control API. */
import { Command } from "@commander-js/extra-typings";
import { type Context, choiceOption, withCaller } from "#cli/context.ts";
import { listOf, listCommand } from "#cli/list.ts";
import { asFuture } from "#cli/values.ts";
import { roles } from "#fleet/role.ts";
import { createToken, listTokens, revokeToken } from "./contract.ts";

export function tokensCommand(context: Context): Command {
  return new Command("tokens")
    .addCommand(listCommand(context, "tokens", tokenList, "List the tokens, with their last use and expiry"), {
      isDefault: true,
    })
    .addCommand(createCommand(context))
    .addCommand(revokeCommand(context));
}

function createCommand(context: Context): Command {
  const command = new Command("create")
    .description("Create a token, which is valid at once; it is shown once, and only its hash is stored")
    .requiredOption("--name <name>", "owner of the token, as shown in the audit log (required)")
    .addOption(choiceOption("--role <role>", "what it may do (required)", roles).makeOptionMandatory())
    .option("--expires <time>", "when it expires: after 90d, or at a date or time (default: never)", asFuture);
  const example = "simfleet tokens create --name ci --role operator --expires 90d";
  return withCaller(context, command, example, async ({ client, output }, { name, role, expires }) => {
    const created = await client.call(createToken, { body: { name, role, expires } });
    output.answer(created, ({ token }) => token);
    output.say(`The token of ${name} is valid now, and not shown again. Revoke it: simfleet tokens revoke ${name}`);
  });
}

function revokeCommand(context: Context): Command {
  const command = new Command("revoke")
    .description("Revoke a token, which is invalid at once")
    .argument("<name>", "owner of the token");
  return withCaller(context, command, "simfleet tokens revoke ci", async ({ client, output }, name) => {
    await client.call(revokeToken, { params: { name } });
    output.answer({ name, revoked: true }, () => `Revoked the token of ${name}.`);
  });
}

const tokenList = listOf("tokens", listTokens, {
  empty: "No tokens. Create one with: simfleet tokens create --name NAME --role ROLE",
  columns: [
    { name: "name" },
    { name: "role" },
    { name: "lastUsedAt", heading: "last used" },
    { name: "expiresAt", heading: "expires" },
    { name: "createdAt", heading: "created" },
    { name: "createdBy", heading: "by" },
    { name: "origin" },
  ],
});
