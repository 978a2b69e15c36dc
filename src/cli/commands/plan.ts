/** `simfleet plan FILE`: what a run would do, before it does it. */
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app.ts";
import type { Config } from "#config/config.ts";
import type { Plan } from "#runs/plan.ts";
import { writeResults } from "#runs/results.ts";
import { type Context, withCommon } from "../context.ts";
import { planDocument, planText } from "../plan-text.ts";

export function planCommand(context: Context): Command {
  const command = new Command("plan")
    .description("check a file of speed-class changes and tell what a run of it would do; makes no call")
    .argument("<file>", "CSV file with the columns simId (or imsi) and speedClass")
    .option("--speed-class <class>", "one class for all rows, for a file of ids only")
    .option("--out <file>", "write one verdict per row to this CSV file");
  return withCommon(
    command,
    "simfleet plan fleet.csv\nsimfleet plan ids.csv --speed-class s1.slow --out verdicts.csv",
  ).action(async (file, options) => {
    const output = context.output(options);
    const config = context.config(options);
    const exitCode = await context.withApp(config, async (app) => {
      const plan = await planFile(app, config, { file, speedClass: options.speedClass });
      if (options.out !== undefined) {
        const mend = "Choose another place with --out";
        await writeResults(options.out, app.desk.verdicts(plan, config.profile), mend);
      }
      output.answer(planDocument(plan), () => planText(plan));
      return plan.survey.counts.valid === 0 ? 2 : 0;
    });
    context.surroundings.setExitCode(exitCode);
  }) as unknown as Command;
}

/** Plans a file for the selected profile. */
export function planFile(
  app: App,
  config: Config,
  ask: {
    file: string;
    speedClass?: string | undefined;
    skipUnchanged?: boolean;
    callsPerMinute?: number | undefined;
  },
): Promise<Plan> {
  return app.desk.plan({
    path: ask.file,
    wording: config.profiles[config.profile]?.profile.wording ?? "sims",
    bucket: app.bucketOf(config.profile),
    speedClass: ask.speedClass,
    knownSpeedClasses: config.deployment.speedClasses,
    profile: config.profile,
    skipUnchanged: ask.skipUnchanged === true,
    callsPerMinute: ask.callsPerMinute,
  });
}
