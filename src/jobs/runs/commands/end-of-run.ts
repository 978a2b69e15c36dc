/**
 * The end of every command that shows a run until it ends (`apply`, `runs resume`, `retry`, `undo`): the report with
 * the most frequent reasons, the results file, and a last line that says the same as the exit code.
 */
import { basename, extname, join, resolve } from "node:path";
import type { Client } from "#contract/client.ts";
import { SimfleetError } from "#core/errors.ts";
import { visible } from "#core/visible-text.ts";
import { type Outcome, isRunOver } from "#fleet/run.ts";
import { type Caller, type Context, type ProcessIo, ask, confirm, isTerminal } from "#cli/context.ts";
import { localWork, sayIfUnserved } from "#cli/follow/follow-work.ts";
import { shellWord } from "#cli/format.ts";
import { grouped } from "#core/grouped.ts";
import {
  type PlanDocument,
  type RunReport,
  deletePlan,
  downloadResults,
  showRunSummary,
  startRun,
} from "../contract.ts";
import { runs } from "../feature.ts";
import { exitCodeOf } from "../report.ts";
import { writeResults } from "#core/files/output-file.ts";
import { follow } from "./follow-run.ts";
import { countsText, type Reason, runText } from "./run-text.ts";

/**
 * Asks, starts a plan, and shows its run until it ends unless the command is to return at once. A plan that is not
 * started is deleted.
 * @returns the exit code
 */
export async function startAsked(
  caller: Caller,
  context: Context,
  how: {
    readonly plan: PlanDocument;
    readonly question: string;
    /** Throws if it must not be started. */
    readonly check?: () => Promise<void>;
    readonly options: ConfirmOptions & { readonly detach?: true | undefined; readonly out?: string | undefined };
    /** Where to ask, if standard input has other content. */
    readonly terminal?: ProcessIo["stdin"] | undefined;
    readonly startedText: (run: RunReport) => string;
    readonly resultsPathOf: (run: RunReport) => string | undefined;
  },
): Promise<number> {
  const { plan, question, options, terminal = context.io.stdin } = how;
  const { app, client, output } = caller;
  const { planId } = plan;
  let run: RunReport | undefined;
  try {
    await how.check?.();
    const confirmed = await confirmation({ ...plan, question }, options, { ...context.io, stdin: terminal });
    if (confirmed !== undefined) run = await client.call(startRun, { query: { planId, ...confirmed } });
  } finally {
    if (run === undefined) await client.call(deletePlan, { params: { planId } }).catch(() => undefined);
  }
  if (run === undefined) {
    output.say("Nothing was started.");
    return 2;
  }
  if (options.detach !== true) {
    output.say(how.startedText(run));
    return showToEnd(caller, run, options.out ?? how.resultsPathOf(run));
  }
  output.answer(run, (shown) => shown.runId);
  const record = await app?.service(runs).ledger.run(run.runId);
  const hint = `No worker is running: the run starts with the next one (simfleet worker), or with: simfleet runs resume ${run.runId}`;
  await sayIfUnserved(record && localWork(app, runs, record), output, hint);
  return 0;
}

/**
 * Shows a run until it ends and prints its report; writes its results if a path is given.
 * @returns the exit code
 */
export async function showToEnd(
  caller: Caller,
  run: Pick<RunReport, "runId" | "name">,
  resultsPath: string | undefined,
): Promise<number> {
  const { output } = caller;
  const { runId } = run;
  const resumeCommand = formatResumeCommand(run, resultsPath);
  const { report, exitCode } = await follow({ ...caller, runId, mode: "work", resumeCommand, resultsPath });
  const isOver = report.finishedAt !== null;
  const command = `simfleet runs results ${runId} --out FILE`;
  const path = isOver ? resultsPath : undefined;
  // The run is over whatever became of the file: its report comes first.
  const unwritten = path === undefined ? undefined : await saveResults(path, { runId, command }, caller.client);
  const isWritten = path !== undefined && unwritten === undefined;
  const reasons = isOver && !output.isJson ? await topReasons(caller.client, report) : [];
  output.answer(isWritten ? { ...report, results: path } : report, (shown) =>
    isOver ? runText(shown, reasons) : countsText(shown),
  );
  if (!isOver) return exitCode;
  if (unwritten === undefined) output.say(`Results: ${path ?? command}`);
  output.say(describeOutcome(report));
  if (unwritten === undefined) return exitCode;
  output.say(`simfleet: ${unwritten.message}`);
  return unwritten.exitCode;
}

/** The last line of a run that is over; it and the exit code come from the same counts. */
function describeOutcome(report: RunReport): string {
  const { done, skipped, total, ...others } = report.counts;
  if (exitCodeOf(report) === 0 && done === 0 && total > 0) {
    return `Nothing was changed: ${total === 1 ? "the row was" : `all ${grouped(total)} rows were`} skipped.`;
  }
  if (exitCodeOf(report) === 0) {
    const what = skipped === 0 ? "done" : "done or skipped";
    return total === 1 ? `Success: the row is ${what}.` : `Success: all ${grouped(total)} rows are ${what}.`;
  }
  const parts = Object.entries(others).filter(([, count]) => count > 0);
  const counts = parts.map(([outcome, count]) => `${grouped(count)} ${outcome}`).join(", ");
  return total === 1 ? `The row is not done: ${counts}.` : `Not all ${grouped(total)} rows are done: ${counts}.`;
}

/** @returns why the file could not be written; undefined if it was */
async function saveResults(path: string, { runId, command }: { runId: string; command: string }, client: Client) {
  try {
    const lines = await client.call(downloadResults, { params: { runId }, query: { format: "csv" } });
    await writeResults(path, lines, `No outcome is lost: write them to another path with ${command}`);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof SimfleetError && thrown.code === "RESULTS_NOT_WRITABLE") return thrown;
    throw thrown;
  }
}

/**
 * `fleet.csv` -> `fleet.r-….results.csv`, in the folder. Undefined if the run has not the name of a file, as one that
 * was selected by a filter.
 */
export function resultsPathOf({ runId, name }: Pick<RunReport, "runId" | "name">, folder = ""): string | undefined {
  const file = basename(name.replace(/ \((?:retry|undo)\)$/, ""));
  const isPlain = visible(file) === file && !file.startsWith(".");
  if (folder === "" && !(isPlain && /.\.csv$/i.test(file))) return undefined;
  return join(folder, `${basename(file, extname(file))}.${runId}.results.csv`);
}

/** With --out if the results would not get this path by themselves. */
function formatResumeCommand(run: Pick<RunReport, "runId" | "name">, path: string | undefined): string {
  const command = `simfleet runs resume ${run.runId}`;
  if (path === undefined || resolve(path) === resolve(resultsPathOf(run) ?? "")) return command;
  return `${command} --out ${shellWord(path)}`;
}

const explained: readonly Outcome[] = ["rejected", "failed", "unknown"];
const reasonsShown = 3;

/** The most frequent reasons of rows that are not done; none while the run is in progress. */
export async function topReasons(client: Client, { runId, state, counts }: RunReport): Promise<readonly Reason[]> {
  const isExplained = explained.some((outcome) => counts[outcome] > 0);
  if (!isExplained || !isRunOver(state)) return [];
  try {
    const { reasons } = await client.call(showRunSummary, { params: { runId } });
    return reasons.filter(({ outcome }) => explained.includes(outcome)).slice(0, reasonsShown);
  } catch (thrown) {
    // The report is complete without them, such as when the rows of an old run were removed.
    if (!(thrown instanceof SimfleetError)) throw thrown;
    return [];
  }
}

/** Descriptions of options that several commands have. */
export const optionTexts = {
  confirm: "confirm an irreversible operation with its number of SIMs; --yes is not enough",
  out: "write the results to this file (default: in the current folder, named after the input file)",
  detach: "submit the run, print its ID and return; needs a running worker",
} as const;

// One rule for all commands that start a run: a question on a terminal, or the number of calls that cannot be undone.

/** Run that a question is about. */
export interface Confirming extends Pick<PlanDocument, "operation" | "irreversible"> {
  /** Asked if there is none. */
  readonly question: string;
}

/** The options `--yes` and `--confirm`. */
export interface ConfirmOptions {
  readonly yes?: true | undefined;
  readonly confirm?: number | undefined;
}

/**
 * Asks before a run starts. Calls that cannot be undone need their number, typed or given.
 * @returns what the run is started with; undefined: it must not be started
 * @throws SimfleetError USAGE, NOT_CONFIRMED without a terminal and the option
 */
export async function confirmation(
  { operation, irreversible, question }: Confirming,
  { yes, confirm: given }: ConfirmOptions,
  io: ProcessIo,
): Promise<{ confirm?: number } | undefined> {
  if (irreversible === 0) return yes === true || (await confirm(io, question)) ? {} : undefined;
  if (given !== undefined) return { confirm: given };
  if (yes === true || !isTerminal(io)) {
    throw new SimfleetError(
      "NOT_CONFIRMED",
      `${operation} is irreversible: confirm the number of SIMs with --confirm ${irreversible}. Nothing was started`,
    );
  }
  const answer = await ask(io, `${operation} is irreversible. Type the number of SIMs (${grouped(irreversible)}): `);
  const typed = answer?.replaceAll(/[,.'\s]/g, "") ?? "";
  return /^\d{1,9}$/.test(typed) ? { confirm: Number(typed) } : undefined;
}

/** A line about calls that cost money; empty if there are none. */
export function costText({ costly }: { readonly costly: number }): string {
  return costly === 0 ? "" : `${grouped(costly)} of the calls cost money, according to the inventory`;
}
