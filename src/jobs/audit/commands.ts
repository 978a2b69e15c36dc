/** `simfleet audit …`: who changed what. */
import { Command } from "@commander-js/extra-typings";
import { type AuditEntry, auditKindsOf, listAudit } from "./contract.ts";
import { type Context, oneOf, withCaller } from "#cli/context.ts";
import { sinceOption } from "#cli/values.ts";
import { listOf, listing, withPageOptions } from "#cli/list.ts";

export function auditCommand(context: Context): Command {
  return new Command("audit").addCommand(listCommand(context), { isDefault: true });
}

function listCommand(context: Context): Command {
  const kinds = auditKindsOf(context.features);
  const command = new Command("list")
    .description("List changes and rejected attempts, newest first")
    .addOption(sinceOption("only entries since"))
    .option("--who <caller>", "only what this caller did, such as token:anna")
    .option(
      "--kind <kind>",
      `only this kind: ${kinds.join(", ")}; repeatable`,
      (text: string, before: string[] | undefined) => [...(before ?? []), oneOf(text, kinds)],
    );
  const example = "simfleet audit list --kind runs --kind freezes --since 24h";
  return withCaller(context, withPageOptions(command), example, listing(auditList));
}

const auditList = listOf("entries", listAudit, {
  empty: "No entries.",
  columns: [
    { name: "at" },
    { name: "who" },
    { name: "action" },
    { name: "target" },
    { name: "result", value: resultText },
    { name: "about", value: ({ about, made }) => about ?? made },
    { name: "from" },
    { name: "role" },
  ],
});

/** `done 202`, `failed exit 1`; nothing is known of a change whose process ended before it could say. */
function resultText({ result, status, exitCode }: AuditEntry): string {
  if (result === "not recorded") return "no result recorded";
  return `${result} ${status ?? `exit ${exitCode}`}`;
}
