/** Renders runs as text for a terminal. */
import { setSpeedClassName } from "#fleet/sim-operation/sim-operation.ts";
import type { List } from "#cli/list.ts";
import { grouped } from "#cli/format.ts";
import { problemText } from "#cli/problem-text.ts";
import { visible } from "#core/visible-text.ts";
import { isRunOver } from "#fleet/run.ts";
import { listRuns, type RunReport } from "../contract.ts";
import { runReportStrings } from "../strings.ts";

/** How many rows have an outcome for one reason. */
export interface Reason {
  readonly outcome: string;
  readonly reason: string;
  readonly rows: number;
}

/** @param reasons the most frequent reasons of rows that are not done */
export function runText(report: RunReport, reasons: readonly Reason[] = []): string {
  const { counts } = report;
  const lines = [
    `${report.runId}  ${report.name}`,
    ...(report.operation === setSpeedClassName ? [] : [`  ${report.operation}`]),
    `  ${stateText(report)}`,
    `  ${countsText(report)}`,
    ...reasons.map(({ outcome, reason, rows }) => `    ${grouped(rows)} ${outcome}: ${visible(reason)}`),
    `  ${runReportStrings.calls(report.calls)}${report.throttled > 0 ? `, ${runReportStrings.throttled(report.throttled)}` : ""}`,
  ];
  if (isRunOver(report.state) && counts.pending > 0) {
    lines.push(`  ${runReportStrings.inFlight}`);
  }
  if (report.startedAt !== null) lines.push(`  ${runReportStrings.started(report.startedAt)}${finishedText(report)}`);
  if (report.etaSeconds !== null) lines.push(`  ${runReportStrings.left(report.etaSeconds * 1_000)}`);
  if (report.problem !== undefined) lines.push(`  ${problemText(report.problem)}`);
  if (report.retryOf !== undefined) lines.push(`  ${runReportStrings.retryOf(report.retryOf)}`);
  if (counts.failed + (report.state === "completed" ? 0 : counts.cancelled) > 0) {
    lines.push(`  ${runReportStrings.retryWith(report.runId)}`);
  }
  if (counts.unknown > 0) {
    lines.push(`  ${runReportStrings.unknown(counts.unknown, report.runId)}`);
  }
  return lines.join("\n");
}

/** `paused by cli:anna`, `aborted: more than 5% failed`: the reason does not repeat the state. */
function stateText({ state, reason }: RunReport): string {
  if (reason === undefined) return state;
  return reason.startsWith(`${state} `) ? reason : `${state}: ${reason}`;
}

export function countsText({ counts }: RunReport): string {
  const { total, ...outcomes } = counts;
  const deps = Object.entries(outcomes)
    .filter(([name, count]) => count > 0 || name === "done")
    .map(([name, count]) => `${grouped(count)} ${name}`);
  return runReportStrings.rows(total, deps.join(", "));
}

function finishedText(report: RunReport): string {
  if (report.finishedAt === null || report.startedAt === null) return "";
  const tookMs = Date.parse(report.finishedAt) - Date.parse(report.startedAt);
  return `, ${runReportStrings.finished(report.finishedAt, tookMs)}`;
}

export const runList: List<"runs", RunReport> = {
  name: "runs",
  route: listRuns,
  empty: runReportStrings.none,
  columns: [
    { name: "runId", heading: runReportStrings.headings.run },
    { name: "name" },
    {
      name: "state",
      value: ({ state, problem }) => (problem === undefined ? state : runReportStrings.withProblem(state)),
    },
    { name: "counts.total", heading: runReportStrings.headings.rows },
    { name: "counts.done", heading: runReportStrings.headings.done },
    { name: "notDone", value: ({ counts }) => counts.rejected + counts.failed + counts.unknown },
    { name: "counts.pending", heading: runReportStrings.headings.pending },
    { name: "startedAt", heading: runReportStrings.headings.started },
  ],
};
