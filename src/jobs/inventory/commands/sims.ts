/** `simfleet sims …`: the inventory. */
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import type { SimDocument } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, cellText, type List, withPageOptions } from "#cli/list.ts";
import { assertFilter, whereOption } from "#cli/where.ts";
import { changesCommand } from "./changes.ts";
import { countCommand } from "./count.ts";
import { exportCommand } from "./export.ts";
import { syncCommand } from "./sync.ts";

export function simsCommand(context: Context): Command {
  return new Command("sims")
    .addCommand(syncCommand(context))
    .addCommand(listCommand(context))
    .addCommand(countCommand(context))
    .addCommand(showCommand(context))
    .addCommand(exportCommand(context))
    .addCommand(changesCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list")
    .description("list SIMs, most recently discovered first")
    .addOption(whereOption("only SIMs that match a filter"))
    .option("--gone", "only SIMs that the platform no longer lists");
  return withCommon(
    withPageOptions(command),
    "simfleet sims list --where speedClass=s1.fast --where tags.site=berlin --sort -groupId\nsimfleet sims list --where 'status in (active, ready) and groupId not exists' --json",
  ).action(async (options) => {
    const output = context.output(options);
    const { where, limit, cursor, columns, sort } = options;
    assertFilter(where);
    const gone = options.gone === true ? "true" : undefined;
    const page = await context.connect(options, ({ client, profile }) =>
      client.call(routes.listSims, { query: { profile, where, gone, limit, cursor, sort } }),
    );
    // The route sorts all SIMs, not only those of the page.
    answerList(output, page, simList(page.sims), { limit, columns });
    if (!page.isComplete) output.say("The inventory has not been synced yet; run: simfleet sims sync");
  });
}

const firstFields = ["simId", "imsi", "speedClass", "status", "groupId", "tags"];
const hiddenFields: ReadonlySet<string> = new Set(["addedAt", "updatedAt", "updatedBy", "goneAt", "seenAt"]);

/** The fields that are kept differ by configuration; their order does not depend on the SIMs. */
function simList(sims: readonly SimDocument[]): List<"sims", SimDocument> {
  const fields = new Set(sims.flatMap((sim) => Object.keys(sim)));
  const others = [...fields].filter((name) => !firstFields.includes(name) && !hiddenFields.has(name)).toSorted();
  const names = [...firstFields.filter((name) => fields.has(name)), ...others, "seenAt"];
  return { name: "sims", route: routes.listSims, empty: "No SIM matches.", columns: names.map((name) => ({ name })) };
}

function showCommand(context: Context): Command {
  const command = new Command("show")
    .description("show one SIM as last seen, or as it is now")
    .argument("<sim>", "SIM ID, or IMSI")
    .option("--fresh", "read it from the platform now; uses one call");
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
