/** `simfleet plan FILE`: previews a run. */
import { Command } from "@commander-js/extra-typings";
import type { RowsRequest } from "#contract/route.ts";
import { createPlan, downloadVerdicts } from "../contract.ts";
import { writeResults } from "../results/results.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { planText } from "./plan-text.ts";
import { assertFilter, whereOption } from "#cli/where.ts";
import { operationOption, operationQuery, setOption, speedClassOption } from "./operation-options.ts";
import { orderStrings, planStrings } from "../strings.ts";

export function planCommand(context: Context): Command {
  const command = new Command("plan")
    .description(planStrings.description)
    .argument("[file]", orderStrings.file)
    .addOption(whereOption(orderStrings.where))
    .addOption(operationOption())
    .addOption(setOption())
    .addOption(speedClassOption())
    .option("--from-results", orderStrings.fromResults)
    .option("-o, --out <file>", planStrings.out);
  return withCommon(
    command,
    "simfleet plan fleet.csv\nsimfleet plan ids.csv --speed-class s1.slow --out verdicts.csv\nsimfleet plan --where groupId=g-1 --speed-class s1.slow\nsimfleet plan groups.csv --operation set-group",
  ).action(async (file, options, self) => {
    const rows = rowsOf(file, options, self);
    const output = context.output(options);
    const { out } = options;
    await context.connect(options, async ({ client, profile, app }) => {
      const plan = await client.call(createPlan, { query: { profile, ...operationQuery(options) }, rows });
      if (out !== undefined) {
        const verdicts = await client.call(downloadVerdicts, { params: { planId: plan.planId } });
        await writeResults(out, verdicts, planStrings.otherPath);
      }
      const { planId, expiresAt, ...report } = plan;
      // A plan of this process ends with it, and no run can be started from it.
      output.answer(app === undefined ? { planId, expiresAt, ...report } : report, (shown) => planText(shown));
      const { rows: all, problemsInAll: wrong } = plan;
      if (wrong > 0 && wrong < all) {
        output.say(planStrings.someInvalid(wrong, all));
      } else if (wrong > 0) output.say(planStrings.allInvalid);
      context.io.setExitCode(wrong === 0 ? 0 : wrong === all ? 2 : 1);
    });
  }) as unknown as Command;
}

/** Reads where the rows come from; ends the command unless exactly one of file and filter is given. */
export function rowsOf(
  file: string | undefined,
  { where }: { where?: string[] | undefined },
  command: Pick<Command, "error">,
): RowsRequest {
  assertFilter(where);
  if (file !== undefined && where === undefined) return { file };
  if (file === undefined && where !== undefined) return { where };
  const wrong = file === undefined ? orderStrings.noRows : orderStrings.twoKindsOfRows;
  return command.error(`error: ${wrong}`);
}
