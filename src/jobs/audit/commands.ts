/** `simfleet audit …`: who changed what. */
import { Command } from "@commander-js/extra-typings";
import { type AuditEntry, listAudit } from "./contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, withPageOptions } from "#cli/list.ts";

export function auditCommand(context: Context): Command {
  return new Command("audit").addCommand(listCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list").description("changes and rejected attempts, newest first");
  return withCommon(withPageOptions(command), "simfleet audit list --limit 200 --json").action(async (options) => {
    const output = context.output(options);
    const { limit, cursor } = options;
    const page = await context.connect(options, ({ client }) => client.call(listAudit, { query: { limit, cursor } }));
    answerList(output, page, auditList, options);
  });
}

const auditList: List<"entries", AuditEntry> = {
  name: "entries",
  route: listAudit,
  empty: "Nothing was changed.",
  columns: [
    { name: "at" },
    { name: "who" },
    { name: "role" },
    { name: "action" },
    { name: "target" },
    { name: "result", value: resultText },
    { name: "from" },
  ],
};

/** `done 202`, `failed exit 1`; nothing is known of a change whose process ended before it could say. */
function resultText({ result, status, exitCode }: AuditEntry): string {
  if (result === "not recorded") return "no result recorded";
  return `${result} ${status ?? `exit ${exitCode}`}`;
}
