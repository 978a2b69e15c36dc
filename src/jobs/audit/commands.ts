/** `simfleet audit …`: who changed what. */
import { Command } from "@commander-js/extra-typings";
import { type AuditEntry, auditKindsOf, listAudit } from "./contract.ts";
import { type Context, oneOf, withCommon } from "#cli/context.ts";
import { asInstant } from "#cli/values.ts";
import { type List, answerList, withPageOptions } from "#cli/list.ts";

export function auditCommand(context: Context): Command {
  return new Command("audit").addCommand(listCommand(context), { isDefault: true });
}

function listCommand(context: Context): Command {
  const kinds = auditKindsOf(context.features);
  const command = new Command("list")
    .description("List changes and rejected attempts, newest first")
    .option(
      "--since <when>",
      "only entries since an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset",
      asInstant,
    )
    .option("--who <caller>", "only what this caller did, such as token:anna")
    .option(
      "--kind <kind>",
      `only this kind: ${kinds.join(", ")}; repeatable`,
      (text: string, before: string[] | undefined) => [...(before ?? []), oneOf(text, kinds)],
    );
  return withCommon(withPageOptions(command), "simfleet audit list --kind runs --kind freezes --since 24h").action(
    async (options) => {
      const output = context.output(options);
      const { who, kind, limit, cursor } = options;
      const since = options.since === undefined ? undefined : new Date(options.since).toISOString();
      const query = { since, who, kind, limit, cursor };
      const page = await context.connect(options, ({ client }) => client.call(listAudit, { query }));
      answerList(output, page, auditList, options);
    },
  );
}

const auditList: List<"entries", AuditEntry> = {
  name: "entries",
  route: listAudit,
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
};

/** `done 202`, `failed exit 1`; nothing is known of a change whose process ended before it could say. */
function resultText({ result, status, exitCode }: AuditEntry): string {
  if (result === "not recorded") return "no result recorded";
  return `${result} ${status ?? `exit ${exitCode}`}`;
}
