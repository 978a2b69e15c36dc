/** `simfleet sims changes`: changes of the fleet, by runs or from outside. */
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { type Change, changeTypes, listChanges } from "../contract.ts";
import { type Context, asCount, choiceOption, withCommon } from "#cli/context.ts";
import { asInstant } from "#cli/instant.ts";
import { table } from "#cli/output.ts";

const kinds = changeTypes.map((type) => type.slice("sim.".length));

export function changesCommand(context: Context): Command {
  const command = new Command("changes")
    .description("list changes of the fleet, newest first")
    .option("--since <when>", "only changes since: 90m, 24h, 7d, or a time such as 2026-11-20T08:00Z", asInstant)
    .option("--sim <sim>", "only changes of this SIM")
    .option("--field <field>", "only changes of this field, such as speedClass or tags.site")
    .addOption(choiceOption("--by <who>", "only changes by runs, or only changes from outside", ["run", "outside"]))
    .addOption(choiceOption("--kind <kind>", "only this kind of change", kinds))
    .option("-n, --limit <n>", "maximum number of results", asCount, 50)
    .option("--cursor <cursor>", "continue after the page that returned this cursor", asCursor);
  return withCommon(command, "simfleet sims changes --since 24h --by outside --field speedClass").action(
    async (options) => {
      const output = context.output(options);
      const { since, sim, field, kind, limit, cursor } = options;
      const by = options.by === "run" || options.by === "outside" ? options.by : undefined;
      const type = changeTypes.find((one) => one === `sim.${kind}`);
      const from = since === undefined ? undefined : new Date(since).toISOString();
      const page = await context.connect(options, ({ client, profile }) =>
        client.call(listChanges, { query: { profile, sim, field, by, type, since: from, limit, cursor } }),
      );
      output.answer(page, (shown) => changesText(shown.changes));
      if (page.nextCursor !== null && !output.isJson) output.say(`Older ones: --cursor ${page.nextCursor}`);
    },
  );
}

function changesText(changes: readonly Change[]): string {
  if (changes.length === 0) return "No changes recorded.";
  const rows = changes.map(({ at, type, sim, field, before, after, by, cause }) => [
    at,
    type.slice("sim.".length),
    sim,
    field === undefined ? "" : `${field}: ${valueText(before)} -> ${valueText(after)}`,
    by,
    cause,
  ]);
  return table(["AT", "KIND", "SIM", "WHAT", "BY", "CAUSE"], rows);
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function asCursor(text: string): string {
  if (!/^\d{1,15}-\d{1,10}$/.test(text)) throw new InvalidArgumentError("It must be the cursor of a previous page.");
  return text;
}
