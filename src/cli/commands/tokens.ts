/** `simfleet tokens …`: bearer tokens of the control API. */
import { createHash, randomBytes } from "node:crypto";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { roles } from "#fleet/role.ts";
import { type Context, addExample, choiceOption } from "../context.ts";

export function tokensCommand(context: Context): Command {
  return new Command("tokens").addCommand(createCommand(context));
}

function createCommand(context: Context): Command {
  const command = new Command("create")
    .description("create a token, which is shown once and not stored; its hash goes into the configuration")
    .requiredOption("--name <name>", "owner of the token, as shown in the audit log", asName)
    .addOption(choiceOption("--role <role>", "what it may do", roles).makeOptionMandatory())
    .option("--json", "print one JSON document on stdout");
  addExample(command, "simfleet tokens create --name ci --role operator");
  return command.action(({ name, role, json }) => {
    const output = context.output({ json });
    const token = `sf_${randomBytes(32).toString("base64url")}`;
    const hash = `sha256:${createHash("sha256").update(token).digest("hex")}`;
    const yaml = `http:\n  tokens:\n    ${name}: { role: ${role}, hash: "${hash}" }`;
    output.answer({ name, role, token, hash, yaml }, () => token);
    if (output.isJson) return;
    output.say("The token is not shown again. Add its hash to the configuration of the workers and restart them:");
    output.sayLines(`\n${yaml}`);
  });
}

function asName(text: string): string {
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?$/.test(text)) {
    throw new InvalidArgumentError(
      "It may have letters, digits, - and _, and must start and end with a letter or digit.",
    );
  }
  return text;
}
