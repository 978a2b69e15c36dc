/** `simfleet audit …`: who changed what. */
import { Command } from "@commander-js/extra-typings";
import { type AuditEntry, listAudit } from "./contract.ts";
import { type Context, asCount, withCommon } from "#cli/context.ts";
import { table } from "#cli/output.ts";

export function auditCommand(context: Context): Command {
  return new Command("audit").addCommand(listCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list")
    .description("changes and rejected attempts, newest first")
    .option("-n, --limit <n>", "maximum number of results", asCount, 50)
    .option("--cursor <cursor>", "continue after the page that returned this cursor");
  return withCommon(command, "simfleet audit list --limit 200 --json").action(async (options) => {
    const output = context.output(options);
    const { limit, cursor } = options;
    const page = await context.connect(options, ({ client }) => client.call(listAudit, { query: { limit, cursor } }));
    output.answer(page, (shown) => auditText(shown.entries));
    if (page.nextCursor !== null && !output.isJson) output.say(`Older ones: --cursor ${page.nextCursor}`);
  });
}

function auditText(entries: readonly AuditEntry[]): string {
  if (entries.length === 0) return "Nothing was changed.";
  const rows = entries.map((entry) => {
    const { at, who, role, action, target, from } = entry;
    return [at, who ?? "-", role ?? "-", action, target ?? "-", resultText(entry), from];
  });
  return table(["AT", "WHO", "ROLE", "ACTION", "TARGET", "RESULT", "FROM"], rows);
}

/** `done 202`, `failed exit 1`; nothing is known of a change whose process ended before it could say. */
function resultText({ result, status, exitCode }: AuditEntry): string {
  if (result === "not recorded") return "no result recorded";
  return `${result} ${status ?? `exit ${exitCode}`}`;
}
