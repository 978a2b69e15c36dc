/** `simfleet apply FILE`: plans the file, asks, submits the run and shows it until it ends. */
import { basename, dirname } from "node:path";
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { openTerminal } from "#core/files/open-file.ts";
import { visibleIn } from "#core/visible-text.ts";
import { type Changed, type PlanReport, changedText, createPlan } from "../contract.ts";
import { assertCanWrite } from "#core/files/output-file.ts";
import { assertAllValid } from "../submit.ts";
import { addSeeAlso, type Context, asCount, withCommon, yesOption } from "#cli/context.ts";
import { addWaveOptions } from "#cli/values.ts";
import { planText, rowsOf } from "./plan.ts";
import { resultsPathOf, startAsked } from "./end-of-run.ts";
import { orderQueryOf, optionTexts, planningCommand } from "./operation-options.ts";
import { counted, grouped } from "#cli/format.ts";

export function applyCommand(context: Context): CommandUnknownOpts {
  const command = planningCommand(
    "apply",
    "Change SIMs from a file or filter: plan, run, and write a result for every row",
  )
    .optionsGroup("Safety:")
    .addOption(yesOption())
    .option("--confirm <n>", optionTexts.confirm, asCount)
    .option("--partial", "process the valid rows even if other rows are invalid")
    .option("--skip-unchanged", "skip SIMs that already have the values, however old their record is")
    .addOption(new Option("--send-unchanged", "send SIMs that already have the values, too").conflicts("skipUnchanged"))
    .option(
      "--max-failures <n>",
      "abort when more rows than this fail or are rejected: a number or a percentage such as 5%",
    )
    .option("--rate <n>", "maximum number of calls per minute", asCount)
    .optionsGroup("Run:")
    .option("--name <name>", "name of the run (default: the file name or the filter)")
    .option(
      "-o, --out <file>",
      "write the results to this file (default: next to the input file; of standard input: in the current folder)",
    )
    .option("--detach", optionTexts.detach)
    .optionsGroup("Waves:");
  addWaveOptions(command);
  addSeeAlso(command, "plan", "runs retry", "runs undo");
  return withCommon(
    command,
    "simfleet apply fleet.csv --yes\nsimfleet apply --where tags.site=stadium --speed-class s1.fast\nsimfleet apply ids.csv --speed-class s1.slow --canary 20 --max-failures 2% --rate 120",
  ).action(async (given, options, self) => {
    const rows = await rowsOf(given, options, { command: self, io: context.io });
    const { file, read } = "file" in rows ? rows : {};
    const pathOf = (runId: string): string | undefined =>
      options.out ?? (file === undefined ? undefined : resultsPathOf({ runId, name: file }, dirname(file)));
    await context.connect(options, async (caller) => {
      const { client, profile, app, output } = caller;
      if (options.detach !== true) await assertCanWrite(pathOf("r"), file);
      // An upload has no file name.
      const { name = file && basename(file).slice(0, 200), sendUnchanged } = options;
      const skipUnchanged = sendUnchanged === true ? { skipUnchanged: "false" as const } : {};
      const query = { profile, ...orderQueryOf(options), name, ...skipUnchanged };
      const plan = await client.call(createPlan, { query, rows });
      output.sayLines(planText(visibleIn(plan)));
      return startAsked(caller, context, {
        plan,
        check: async () => {
          assertAllValid(plan, { partial: options.partial === true });
          // Wrong credentials show now, not after the first thousand rows have been submitted.
          if (options.detach !== true) await app?.kernel.client(app.kernel.config.profile).whoAmI(context.io.interrupt);
        },
        question: changesQuestion(plan),
        options,
        terminal: read === undefined ? undefined : openTerminal(),
        startedText: ({ runId }) => `Run ${runId} started.`,
        resultsPathOf: ({ runId }) => pathOf(runId),
      });
    });
  });
}

/** The changes, and the calls that change nothing apart: SIMs that already are as requested. */
export function changesQuestion(plan: Pick<PlanReport, "calls" | "verdicts" | "unchangedSkipped"> & Changed): string {
  const { calls, verdicts, unchangedSkipped } = plan;
  const same = verdicts.unchanged - unchangedSkipped;
  const changes = calls - same;
  const question = `${changedText(plan)}. Make ${counted(changes, "change")}?`;
  if (same === 0) return question;
  return `${question} (${same === 1 ? "1 more call changes" : `${grouped(same)} more calls change`} nothing; --skip-unchanged leaves them out)`;
}
