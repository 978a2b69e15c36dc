/** The commands that plan rows: `simfleet plan FILE` previews their run, `simfleet apply FILE` asks and starts it. */
import { basename, dirname } from "node:path";
import { addAbortSignal } from "node:stream";
import { Command, type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { z } from "zod";
import { addSeeAlso, asCount, type Context, type ProcessIo, withCommon, yesOption } from "#cli/context.ts";
import { counted, duration } from "#cli/format.ts";
import { grouped } from "#core/grouped.ts";
import { addWaveOptions, assertFilter, whereOption } from "#cli/values.ts";
import type { RowsRequest } from "#contract/route.ts";
import { openTerminal, pipeAt } from "#core/files/open-file.ts";
import { assertCanWrite, writeResults } from "#core/files/output-file.ts";
import { visibleIn } from "#core/visible-text.ts";
import { setSpeedClassName } from "#fleet/sim-operation/sim-operation.ts";
import {
  type Changed,
  type PlanReport,
  changedText,
  createPlan,
  deletePlan,
  downloadVerdicts,
  orderQuery,
  percent,
} from "../contract.ts";
import { assertAllValid } from "../submit.ts";
import { costText, optionTexts, resultsPathOf, startAsked } from "./end-of-run.ts";

export function planCommand(context: Context): CommandUnknownOpts {
  const command = planningCommand("plan", "Validate a file or filter and preview the run; makes no API calls")
    .optionsGroup("Options:")
    .option("-o, --out <file>", "write what the run would do with each row (its verdict) to this CSV file")
    .optionsGroup("Waves:");
  addWaveOptions(command);
  addSeeAlso(command, "apply", "operations list");
  return withCommon(
    command,
    "simfleet plan fleet.csv\nsimfleet plan ids.csv --speed-class s1.slow --out verdicts.csv\nsimfleet plan --where groupId=g-1 --speed-class s1.slow\nsimfleet plan groups.csv --operation set-group",
  ).action(async (file, options, self) => {
    const rows = await rowsOf(file, options, { command: self, io: context.io });
    const { out } = options;
    await assertCanWrite(out, "file" in rows ? rows.file : undefined);
    await context.connect(options, async ({ client, profile, app, output }) => {
      const plan = await client.call(createPlan, { query: { profile, ...orderQueryOf(options) }, rows });
      if (out !== undefined) {
        const verdicts = await client.call(downloadVerdicts, { params: { planId: plan.planId } });
        await writeResults(out, verdicts, "Choose another path with --out");
      }
      const { planId, expiresAt, ...report } = plan;
      // Nobody learns its ID, so no run can be started from it.
      if (app !== undefined) await client.call(deletePlan, { params: { planId } });
      output.answer(app === undefined ? { planId, expiresAt, ...report } : report, (shown) => planText(shown));
      const { rows: all, problemsInAll: wrong } = plan;
      if (wrong > 0 && wrong < all) {
        output.say(
          `${grouped(wrong)} of ${grouped(all)} rows cannot be sent, so apply would reject the file. Fix it, or use --partial to process only the valid rows.`,
        );
      } else if (wrong > 0) output.say("No row of the file can be sent; apply would reject it.");
      context.io.setExitCode(wrong === 0 ? 0 : wrong === all ? 2 : 1);
    });
  });
}

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

// The options and the rows of both.

/** A command that plans rows. */
export function planningCommand(name: string, description: string) {
  return new Command(name)
    .description(description)
    .argument(
      "[file]",
      "CSV file with the column simId (or imsi) and a column for each input, such as speedClass; - is standard input",
    )
    .optionsGroup("What to change:")
    .addOption(whereOption("select SIMs from the inventory with a filter instead of a file"))
    .option("--operation <name>", "what to do to each SIM (default: set-speed-class)")
    .addOption(
      new Option("--set <input=value>", "a value for all rows instead of a column; repeatable").argParser(addValue),
    )
    .option("--speed-class <class>", "one speed class for all rows; short for --set speedClass=CLASS")
    .option("--from-results", "take a results file as input, whose values may be old")
    .option("--allow-unlisted", "send speed classes that the platform definition does not list");
}

/** `--set groupId=…`, repeatable. */
function addValue(text: string, before: Readonly<Record<string, string>> | undefined) {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("It must be an input and its value, such as groupId=g-1.");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** The options of a command that have the name of a field in the query of a plan, as that query. */
export function orderQueryOf(options: { readonly set?: Readonly<Record<string, string>> | undefined }): OrderInput {
  const { set = {}, ...others } = options;
  const named = Object.entries(others).filter(([name]) => name in orderQuery.shape && !givenElsewhere.includes(name));
  return Object.fromEntries([
    ...named.map(([name, value]: [string, unknown]) => [name, value === true ? "true" : value]),
    ...Object.entries(set).map(([name, value]) => [`set.${name}`, value]),
  ]) as OrderInput;
}

type OrderInput = z.input<typeof orderQuery>;
/** The profile of a command may come from the configuration, and the confirmation from an answer. */
const givenElsewhere: readonly string[] = ["profile", "confirm"];

/** Reads where the rows come from; ends the command unless exactly one of file and filter is given. */
export async function rowsOf(
  file: string | undefined,
  { where }: { where?: string[] | undefined },
  { command, io }: { command: Pick<Command, "error">; io: ProcessIo },
): Promise<RowsRequest> {
  assertFilter(where);
  if (file !== undefined && where === undefined) return openInput(file, io);
  if (file === undefined && where !== undefined) return { where };
  const wrong = file === undefined ? "give a file or --where" : "give a file or --where, not both";
  return command.error(`error: ${wrong}`);
}

/** A file, or what comes through a pipe; its name stands for it, without the folder of devices. */
async function openInput(file: string, { stdin, interrupt }: ProcessIo): Promise<RowsRequest> {
  if (file === "-" || file === "/dev/stdin") return { file: "stdin", read: () => addAbortSignal(interrupt, stdin) };
  const read = await pipeAt(file, interrupt);
  return read === undefined ? { file } : { file: file.startsWith("/dev/") ? basename(file) : file, read };
}

// Renders a plan as text for a terminal.

const problemsShown = 10;

function sentText(unchanged: number, skipped: number): string {
  if (skipped === unchanged) return ": not sent";
  return skipped === 0 ? ": sent" : `: ${grouped(skipped)} not sent, ${grouped(unchanged - skipped)} sent`;
}

export function planText(plan: PlanReport): string {
  const { file, where, rows, verdicts, unchangedSkipped, calls, estimateSeconds, problems, problemsInAll, warnings } =
    plan;
  const isSpeedClass = plan.operation === setSpeedClassName;
  const lines = [
    file === undefined ? `${where ?? ""}: ${counted(rows, "SIM")}` : `${file}: ${counted(rows, "row")}`,
    `  ${changedText(plan)}`,
    `  ${grouped(verdicts.change)} to change`,
    ...(verdicts.unchanged > 0
      ? [
          `  ${grouped(verdicts.unchanged)} already ${isSpeedClass ? "have the class" : "as requested"}, according to the inventory${sentText(verdicts.unchanged, unchangedSkipped)}`,
        ]
      : []),
    ...(verdicts["not-in-inventory"] > 0 ? [`  ${grouped(verdicts["not-in-inventory"])} not in the inventory`] : []),
    ...(verdicts.duplicate > 0 ? [`  ${grouped(verdicts.duplicate)} duplicate (sent once)`] : []),
    ...(verdicts.conflict > 0 ? [`  ${grouped(verdicts.conflict)} in conflict: one SIM, different values`] : []),
    ...(verdicts.rejected > 0 ? [`  ${grouped(verdicts.rejected)} rejected by the operation`] : []),
    ...(verdicts.invalid > 0 ? [`  ${grouped(verdicts.invalid)} invalid`] : []),
    ...problems.slice(0, problemsShown).map((problem) => `    line ${problem.line}: ${problem.message}`),
  ];
  const more = problemsInAll - Math.min(problems.length, problemsShown);
  if (more > 0) lines.push(`    … and ${grouped(more)} more; --out FILE writes every row's verdict`);
  lines.push(...warnings.map((warning) => `  warning: ${warning}`));
  if (plan.waves !== undefined) lines.push(...waveLines(plan.waves));
  if (plan.costly > 0) lines.push(`  ${costText(plan)}`);
  if (plan.irreversible > 0) lines.push(`  ${grouped(plan.irreversible)} of the calls are irreversible`);
  else if (!plan.hasUndo) lines.push(`  ${plan.operation} has no undo`);
  const others =
    plan.othersPerMinute === 0 ? "" : `, with ${grouped(plan.othersPerMinute)} calls a minute left to others`;
  lines.push(`${counted(calls, "call")}, ${timeText(estimateSeconds)}${others}${aheadText(plan.ahead)}`);
  return lines.join("\n");
}

/** Lines that say what each wave changes, and what its gate costs. */
function waveLines({ soakSeconds, gate, onFailure, reads, parts }: NonNullable<PlanReport["waves"]>): string[] {
  const sizes = parts.map(
    ({ sims, judged }) => `${grouped(sims)}${judged === 0 ? "" : ` (${grouped(judged)} judged)`}`,
  );
  const soak = soakSeconds === 0 ? "" : `; a soak of ${duration(soakSeconds * 1_000)} after each but the last`;
  const lines = [`  waves of ${sizes.join(", ")} SIMs${soak}`];
  if (gate === undefined) return lines;
  const now = parts.map(({ sims, met }) => percent(met, sims)).join(", ");
  return [...lines, `  gate: ${gate} (now ${now}), else ${onFailure}; ${counted(reads, "SIM")} read again`];
}

/** `; 190 calls of 1 other run come first` */
function aheadText(ahead: PlanReport["ahead"]): string {
  if (ahead === undefined) return "";
  return `; ${counted(ahead.calls, "call")} of ${counted(ahead.runs.length, "other run")} come first`;
}

function timeText(seconds: number | null): string {
  if (seconds === null) return "duration unknown until the first response reports the quota";
  return seconds < 1 ? "fits in the current quota window" : `about ${duration(seconds * 1_000)} at the quota`;
}
