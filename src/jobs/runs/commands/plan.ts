/** `simfleet plan FILE`: previews a run. */
import { basename } from "node:path";
import { addAbortSignal } from "node:stream";
import type { Command, CommandUnknownOpts } from "@commander-js/extra-typings";
import { pipeAt } from "#core/files/open-file.ts";
import type { RowsRequest } from "#contract/route.ts";
import { type PlanReport, changedText, createPlan, deletePlan, downloadVerdicts, percent } from "../contract.ts";
import { assertCanWrite, writeResults } from "#core/files/output-file.ts";
import { addSeeAlso, type Context, type ProcessIo, withCommon } from "#cli/context.ts";
import { addWaveOptions, assertFilter } from "#cli/values.ts";
import { orderQueryOf, planningCommand } from "./operation-options.ts";
import { grouped, counted, duration } from "#cli/format.ts";
import { costText } from "./end-of-run.ts";
import { setSpeedClassName } from "#fleet/sim-operation/sim-operation.ts";

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
