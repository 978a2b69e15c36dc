/** `simfleet sims count`: how many SIMs there are, in all or for each value of a field. */
import { Command } from "@commander-js/extra-typings";
import { countSimsBy, type SimCounts } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, withListOptions } from "#cli/list.ts";
import { assertFilter, whereOption } from "#cli/where.ts";
import { simsStrings } from "../strings.ts";

export function countCommand(context: Context): Command {
  const command = new Command("count")
    .description(simsStrings.count)
    .addOption(whereOption(simsStrings.where))
    .option("--gone", simsStrings.gone)
    .option("--by <field>", simsStrings.countBy);
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
    if (by === undefined) output.answer(counts, ({ total }) => simsStrings.counted(total));
    else answerList(output, counts, valueList(by, counts.total), options);
    if (!counts.isComplete) output.say(simsStrings.notSynced);
  });
}

function valueList(field: string, total: number): List<"values", SimCounts["values"][number]> {
  return {
    name: "values",
    route: countSimsBy,
    empty: simsStrings.none,
    columns: [
      { name: "value", heading: field },
      { name: "count", heading: simsStrings.headings.sims },
    ],
    below: () => [simsStrings.counted(total)],
  };
}
