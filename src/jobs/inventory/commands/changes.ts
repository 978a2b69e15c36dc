/** `simfleet sims changes`: changes of the fleet, by runs or from outside. */
import { Command } from "@commander-js/extra-typings";
import { type Change, changeTypes, listChanges } from "../contract.ts";
import { type Context, choiceOption, withCommon } from "#cli/context.ts";
import { asInstant } from "#cli/instant.ts";
import { answerList, type List, withPageOptions } from "#cli/list.ts";
import { changesStrings } from "../strings.ts";

const kinds = changeTypes.map((type) => type.slice("sim.".length));

export function changesCommand(context: Context): Command {
  const command = new Command("changes")
    .description(changesStrings.description)
    .option("--since <when>", changesStrings.since, asInstant)
    .option("--sim <sim>", changesStrings.sim)
    .option("--field <field>", changesStrings.field)
    .addOption(choiceOption("--by <who>", changesStrings.by, ["run", "outside"]))
    .addOption(choiceOption("--kind <kind>", changesStrings.kind, kinds));
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
  empty: changesStrings.none,
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
  if (value === null || value === undefined) return changesStrings.noValue;
  return typeof value === "string" ? value : JSON.stringify(value);
}
