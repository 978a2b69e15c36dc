/** `simfleet sims changes`: changes of the fleet, by runs or from outside. */
import { Command } from "@commander-js/extra-typings";
import { type Change, changeTypes, listChanges } from "../contract.ts";
import { type Context, choiceOption, withCommon } from "#cli/context.ts";
import { asInstant } from "#cli/instant.ts";
import { answerList, type List, withPageOptions } from "#cli/list.ts";

const kinds = changeTypes.map((type) => type.slice("sim.".length));

export function changesCommand(context: Context): Command {
  const command = new Command("changes")
    .description("list changes of the fleet, newest first")
    .option(
      "--since <when>",
      "only changes since an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset",
      asInstant,
    )
    .option("--sim <sim>", "only changes of this SIM")
    .option("--field <field>", "only changes of this field, such as speedClass or tags.site")
    .addOption(choiceOption("--by <who>", "only changes by runs, or only changes from outside", ["run", "outside"]))
    .addOption(choiceOption("--kind <kind>", "only this kind of change", kinds));
  return withCommon(
    withPageOptions(command),
    "simfleet sims changes --since 24h --by outside --field speedClass",
  ).action(async (options) => {
    const output = context.output(options);
    const { since, sim, field, kind, limit, cursor } = options;
    const by = options.by === "run" || options.by === "outside" ? options.by : undefined;
    const type = changeTypes.find((one) => one === `sim.${kind}`);
    const from = since === undefined ? undefined : new Date(since).toISOString();
    const page = await context.connect(options, ({ client, profile }) =>
      client.call(listChanges, { query: { profile, sim, field, by, type, since: from, limit, cursor } }),
    );
    answerList(output, page, changeList, options);
  });
}

const changeList: List<"changes", Change> = {
  name: "changes",
  route: listChanges,
  empty: "No changes recorded.",
  columns: [
    { name: "at" },
    { name: "kind", value: ({ type }) => type.slice("sim.".length) },
    { name: "sim" },
    {
      name: "what",
      value: ({ field, before, after }) =>
        field === undefined ? "" : `${field}: ${valueText(before)} -> ${valueText(after)}`,
    },
    { name: "by" },
    { name: "cause" },
  ],
};

function valueText(value: unknown): string {
  if (value === null || value === undefined) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
