/** `simfleet sims …`: the inventory. */
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import type { SimDocument } from "../contract.ts";
import { type Context, asCount, withCommon } from "#cli/context.ts";
import { table } from "#cli/output.ts";
import { assertFilter, whereOption } from "#cli/where.ts";
import { changesCommand } from "./changes.ts";
import { exportCommand } from "./export.ts";
import { syncCommand } from "./sync.ts";

export function simsCommand(context: Context): Command {
  return new Command("sims")
    .addCommand(syncCommand(context))
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(exportCommand(context))
    .addCommand(changesCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list")
    .description("list SIMs, most recently discovered first")
    .addOption(whereOption("only SIMs that match a filter; repeatable, all must match"))
    .option("--gone", "only SIMs that the platform no longer lists")
    .option("-n, --limit <n>", "maximum number of results", asCount, 50)
    .option("--cursor <cursor>", "continue after the page that returned this cursor");
  return withCommon(
    command,
    "simfleet sims list --where speedClass=s1.fast --where tags.site=berlin\nsimfleet sims list --where 'status in (active, ready) and groupId not exists' --json",
  ).action(async (options) => {
    const output = context.output(options);
    const { where, limit, cursor } = options;
    assertFilter(where);
    const gone = options.gone === true ? "true" : undefined;
    const page = await context.connect(options, ({ client, profile }) =>
      client.call(routes.listSims, { query: { profile, where, gone, limit, cursor } }),
    );
    output.answer(page, (shown) => listText(shown.sims));
    if (page.nextCursor !== null && !output.isJson) output.say(`More: --cursor ${page.nextCursor}`);
    if (!page.isComplete) output.say("The inventory has not been synced yet; run: simfleet sims sync");
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
  const command = new Command("show")
    .description("show one SIM as last seen, or as it is now")
    .argument("<sim>", "SIM ID, or IMSI")
    .option("--fresh", "read it from the platform now, which spends a call");
  return withCommon(command, "simfleet sims show 8942310022000012345 --fresh").action(async (key, options) => {
    const output = context.output(options);
    const sim: Readonly<Record<string, unknown>> = await context.connect(options, ({ client, profile }) => {
      const request = { params: { sim: key }, query: { profile } };
      return options.fresh === true ? client.call(routes.readSim, request) : client.call(routes.showSim, request);
    });
    output.answer(sim, (shown) => {
      const fields = Object.entries(shown).filter(([, value]) => value !== null);
      const width = Math.max(...fields.map(([name]) => name.length));
      return fields.map(([name, value]) => `${name.padEnd(width)}  ${cellText(value)}`).join("\n");
    });
  }) as unknown as Command;
}
