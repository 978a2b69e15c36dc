/** `simfleet plan FILE`: previews a run. */
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app/app.ts";
import type { Config } from "#config/config.ts";
import { SimfleetError } from "#core/errors.ts";
import { type Filter, parseFilter } from "#fleet/filter.ts";
import type { Plan } from "#jobs/runs/plan/plan.ts";
import { type PlanReport, reportOfPlan } from "#jobs/runs/plan/plan-report.ts";
import { writeResults } from "#jobs/runs/results.ts";
import { planRemotely } from "../apply-remote.ts";
import { type Context, withCommon } from "../context.ts";
import { planText } from "../plan-text.ts";
import { whereOption } from "../where.ts";

export function planCommand(context: Context): Command {
  const command = new Command("plan")
    .description("validate a file of speed-class changes and preview the run; makes no API calls")
    .argument("[file]", "CSV file with the columns simId (or imsi) and speedClass")
    .addOption(whereOption("select SIMs from the inventory with a filter instead of a file; repeatable"))
    .option("--speed-class <class>", "one class for all rows; needed with --where and with a file of ids only")
    .option("--out <file>", "write the verdict of each row to this CSV file");
  return withCommon(
    command,
    "simfleet plan fleet.csv\nsimfleet plan ids.csv --speed-class s1.slow --out verdicts.csv\nsimfleet plan --where groupId=g-1 --speed-class s1.slow",
  ).action(async (file, options, self) => {
    const from = originOf(file, options.where, self);
    const output = context.output(options);
    const { where, speedClass, out } = options;
    const report = await context.ask<PlanReport>(options, {
      here: async (app, config) => {
        const plan = await makePlan(app, config, { from, speedClass });
        const fix = "Choose another path with --out";
        if (out !== undefined) await writeResults(out, app.runs.verdicts(plan, config.profile), fix);
        return reportOfPlan(plan);
      },
      there: (worker) => {
        if (out === undefined) return planRemotely(worker, { file, where, speedClass });
        throw new SimfleetError("USAGE", "--out does not work with --server: leave it out");
      },
    });
    output.answer(report, (shown) => planText(shown));
    context.io.setExitCode(report.problemsInAll === report.rows ? 2 : 0);
  }) as unknown as Command;
}

/** Plans a file, or the SIMs that match a filter, for the selected profile. */
export function makePlan(
  app: App,
  config: Config,
  ask: {
    from: Origin;
    speedClass?: string | undefined;
    skipUnchanged?: boolean;
    callsPerMinute?: number | undefined;
  },
): Promise<Plan> {
  return app.runs.plan({
    from: ask.from,
    wording: app.wordingOf(config.profile),
    bucket: app.bucketOf(config.profile),
    speedClass: ask.speedClass,
    knownSpeedClasses: config.deployment.speedClasses,
    profile: config.profile,
    skipUnchanged: ask.skipUnchanged === true,
    callsPerMinute: ask.callsPerMinute,
  });
}

/** Where a command's rows come from. */
export type Origin = { readonly path: string } | { readonly filter: Filter };

/**
 * Reads the origin from the command line; ends the command unless exactly one of the two is given.
 * @throws SimfleetError USAGE for a filter that cannot be read
 */
export function originOf(
  file: string | undefined,
  where: readonly string[] | undefined,
  command: Pick<Command, "error">,
): Origin {
  if (file !== undefined && where === undefined) return { path: file };
  if (file === undefined && where !== undefined) return { filter: parseFilter(where) };
  const wrong =
    file === undefined ? "missing argument 'file', or --where" : "argument 'file' and --where exclude each other";
  return command.error(`error: ${wrong}`);
}
