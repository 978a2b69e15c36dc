/** `simfleet sims count`: how many SIMs there are, in all or for each value of a field. */
import { Command } from "@commander-js/extra-typings";
import { countSimsBy, type SimCounts } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, withListOptions } from "#cli/list.ts";
import { assertFilter, whereOption } from "#cli/where.ts";
import { counted } from "#cli/format.ts";

const countedText = (sims: number) => counted(sims, "SIM");

export function countCommand(context: Context): Command {
  const command = new Command("count")
    .description("count SIMs in total or by the values of a field")
    .addOption(whereOption("only SIMs that match a filter"))
    .option("--gone", "only SIMs that the platform no longer lists")
    .option("--by <field>", "count for each value of this field, such as speedClass or tags.site");
  return withCommon(
    withListOptions(command),
    "simfleet sims count --where tags.site=berlin\nsimfleet sims count --by speedClass",
  ).action(async (options) => {
    const output = context.output(options);
    const { where, by } = options;
    assertFilter(where);
    const gone = options.gone === true ? "true" : undefined;
    const counts = await context.connect(options, ({ client, profile }) =>
      client.call(countSimsBy, { query: { profile, where, gone, by } }),
    );
    if (by === undefined) output.answer(counts, ({ total }) => countedText(total));
    else answerList(output, counts, valueList(by, counts.total), options);
    if (!counts.isComplete) output.say("The inventory has not been synced yet; run: simfleet sims sync");
  });
}

function valueList(field: string, total: number): List<"values", SimCounts["values"][number]> {
  return {
    name: "values",
    route: countSimsBy,
    empty: "No SIM matches.",
    columns: [
      { name: "value", heading: field },
      { name: "count", heading: "SIMs" },
    ],
    below: () => [countedText(total)],
  };
}
