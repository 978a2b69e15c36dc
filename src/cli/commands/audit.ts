/** `simfleet audit …`: who changed what through the control API. */
import { Command } from "@commander-js/extra-typings";
import type { AuditEntry } from "#runs/audit-desk.ts";
import { type Context, asCount, withCommon } from "../context.ts";
import { table } from "../output.ts";

export function auditCommand(context: Context): Command {
  return new Command("audit")
    .description("the record of who changed what through the control API")
    .addCommand(listCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list")
    .description("changes and refused ones, newest first")
    .option("--limit <n>", "at most so many", asCount, 50)
    .option("--cursor <cursor>", "go on after the page that gave this cursor");
  return withCommon(command, "simfleet audit list --limit 200 --json").action(async (options) => {
    const output = context.output(options);
    const { limit, cursor } = options;
    const page = await context.ask(options, {
      here: (app) => app.control.audit.list({ limit, cursor }),
      there: (worker) =>
        worker.get<{ entries: AuditEntry[]; nextCursor: string | null }>("/v1/audit", { limit, cursor }),
    });
    output.answer(page, () => auditText(page.entries));
    if (page.nextCursor !== null && !output.isJson) output.say(`Older ones: --cursor ${page.nextCursor}`);
  });
}

function auditText(entries: readonly AuditEntry[]): string {
  if (entries.length === 0) return "Nothing was changed through the control API.";
  const rows = entries.map(({ at, who, role, action, target, status, from }) => [
    ...[at, who ?? "-", role ?? "-", action, target ?? "-", status, from],
  ]);
  return table(["AT", "WHO", "ROLE", "ACTION", "TARGET", "STATUS", "FROM"], rows);
}
