/** `simfleet sims …`: the inventory. */
import { Command } from "@commander-js/extra-typings";
import type { SimDocument, SimPage } from "#jobs/inventory/service.ts";
import { type Context, asCount, withCommon } from "../../context.ts";
import { table } from "../../output.ts";
import { filterOf, whereOption } from "../../where.ts";
import { changesCommand } from "./changes.ts";
import { exportCommand } from "./export.ts";
import { syncCommand } from "./sync.ts";

export function simsCommand(context: Context): Command {
  return new Command("sims")
    .description("the inventory: the SIMs as they were last seen")
    .addCommand(syncCommand(context))
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(exportCommand(context))
    .addCommand(changesCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list")
    .description("SIMs of the inventory, those that became known last first")
    .addOption(whereOption("only SIMs that a filter means; repeatable, all have to hold"))
    .option("--gone", "SIMs that the platform no longer lists, instead")
    .option("--limit <n>", "at most so many", asCount, 50)
    .option("--cursor <cursor>", "go on after the page that gave this cursor");
  return withCommon(
    command,
    "simfleet sims list --where speedClass=s1.fast --where tags.site=berlin\nsimfleet sims list --where 'status in (active, ready) and groupId not exists' --json",
  ).action(async (options) => {
    const output = context.output(options);
    const filter = filterOf(options.where);
    const { where, limit, cursor, gone } = options;
    const page = await context.ask<SimPage>(options, {
      here: ({ sims }, { profile }) =>
        sims.list(profile, { filter, limit, cursor, presence: gone === true ? "gone" : "listed" }),
      there: (worker) => worker.get<SimPage>("/v1/sims", worker.ofProfile({ where, limit, cursor, gone })),
    });
    output.answer(page, (shown) => listText(shown.sims));
    if (page.nextCursor !== null && !output.isJson) output.say(`More: --cursor ${page.nextCursor}`);
    if (!page.isComplete) output.say("The inventory has not been read whole yet: simfleet sims sync reads the fleet");
  });
}

function listText(sims: readonly SimDocument[]): string {
  if (sims.length === 0) return "No SIM matches.";
  const hidden: ReadonlySet<string> = new Set(["addedAt", "updatedAt", "updatedBy", "goneAt"]);
  const fields = new Set(sims.flatMap((sim) => Object.keys(sim)));
  fields.delete("seenAt");
  const names = [...fields, "seenAt"].filter((name) => !hidden.has(name));
  const header = names.map((name) => name.replace(/([a-z])([A-Z])/g, "$1 $2").toUpperCase());
  return table(
    header,
    sims.map((sim) => names.map((name) => cellText(sim[name]))),
  );
}

function cellText(value: unknown): string {
  if (value === undefined || value === null) return "-";
  if (typeof value === "string") return value;
  if (typeof value !== "object" || Array.isArray(value)) return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name}=${cellText(inner)}`)
    .join(" ");
}

function showCommand(context: Context): Command {
  const command = new Command("show").description("one SIM as it was last seen").argument("<sim>", "SIM ID, or IMSI");
  return withCommon(command, "simfleet sims show 8942310022000012345").action(async (key, options) => {
    const output = context.output(options);
    const sim = await context.ask(options, {
      here: ({ sims }, { profile }) => sims.show(profile, key),
      there: (worker) => worker.get<SimDocument>(`/v1/sims/${encodeURIComponent(key)}`, worker.ofProfile()),
    });
    output.answer(sim, (shown) => {
      const fields = Object.entries(shown).filter(([, value]) => value !== null);
      const width = Math.max(...fields.map(([name]) => name.length));
      return fields.map(([name, value]) => `${name.padEnd(width)}  ${cellText(value)}`).join("\n");
    });
  }) as unknown as Command;
}
