/** Renders runs as text for a terminal. */
import { listOf } from "#cli/list.ts";
import { counted, duration, problemText } from "#cli/format.ts";
import { grouped } from "#core/grouped.ts";
import { visible } from "#core/visible-text.ts";
import { isRunOver } from "#fleet/run.ts";
import { type RunReport, type RunSummary, changedText, listRuns, percent } from "../contract.ts";

export type Reason = RunSummary["reasons"][number];

/** @param reasons the most frequent reasons of rows that are not done */
export function runText(report: RunReport, reasons: readonly Reason[] = []): string {
  const { counts } = report;
  const lines = [
    `${report.runId}  ${report.name}`,
    `  ${changedText(report)}`,
    `  ${stateText(report)}`,
    `  ${countsText(report)}`,
    ...reasons.map(({ outcome, reason, rows }) => `    ${grouped(rows)} ${outcome}: ${visible(reason)}`),
    `  ${counted(report.calls, "call")}${report.throttled > 0 ? `, ${grouped(report.throttled)} rate-limited` : ""}`,
  ];
  if (isRunOver(report.state) && counts.pending > 0) {
    lines.push(`  some calls are still in flight: check again in a moment`);
  }
  if (report.startedAt !== null) lines.push(`  started ${report.startedAt}${finishedText(report)}`);
  if (report.etaSeconds !== null) lines.push(`  about ${duration(report.etaSeconds * 1_000)} left`);
  const { runs = [], startsInSeconds = 0 } = report.ahead ?? {};
  if (report.calls === 0 && startsInSeconds > 0) {
    lines.push(`  waits for ${runs.join(", ")}; starts in about ${duration(startsInSeconds * 1_000)}`);
  }
  if (report.frozen !== undefined) lines.push(`  changes are frozen: ${report.frozen}`);
  else if (report.problem !== undefined) lines.push(`  ${problemText(report.problem)}`);
  for (const { runId, rows } of report.supersededBy ?? []) {
    lines.push(`  ${counted(rows, "row")} superseded by ${runId}`);
  }
  lines.push(...waveLines(report));
  if (report.retryOf !== undefined) lines.push(`  retries rows of ${report.retryOf}`);
  if (counts.failed + (report.state === "completed" ? 0 : counts.cancelled) > 0) {
    lines.push(`  retry failed and cancelled rows: simfleet runs retry ${report.runId}`);
  }
  if (counts.unknown > 0) {
    lines.push(
      `  the responses of ${grouped(counts.unknown)} rows were lost, and these rows are not sent again: simfleet runs results ${report.runId} --outcome unknown`,
    );
  }
  return lines.join("\n");
}

function waveLines({ waves }: RunReport): string[] {
  return (waves?.parts ?? []).flatMap(({ check }, i) => {
    const { judged = 0, before = 0, after = 0, isHeld } = check ?? {};
    const share = `${percent(after, judged)} of ${counted(judged, "SIM")} meet the gate, ${percent(before, judged)} before`;
    return check === null ? [] : [`  wave ${i + 1}: ${share}${isHeld ? "" : ": not held"}`];
  });
}

/** `running (frozen)`, `running (problem)`, `completed, 17 not done` */
export function stateName({ state, frozen, problem, counts, wave }: RunReport): string {
  if (frozen !== undefined) return `${state} (frozen)`;
  if (problem !== undefined) return `${state} (problem)`;
  if (state === "running" && wave?.until) return `${wave.state} after wave ${wave.number}, until ${wave.until}`;
  const left = counts.rejected + counts.failed + counts.unknown + counts.cancelled;
  return state === "completed" && left > 0 ? `completed, ${grouped(left)} not done` : state;
}

/** `paused by cli:anna`, `aborted: more than 5% failed`: the reason does not repeat the state. */
function stateText(report: RunReport): string {
  const { state, reason } = report;
  if (reason === undefined) return stateName(report);
  return reason.startsWith(`${state} `) ? reason : `${state}: ${reason}`;
}

export function countsText({ counts }: RunReport): string {
  const { total, ...outcomes } = counts;
  const { done, ...others } = outcomes;
  const parts = Object.entries(others).flatMap(([name, count]) => (count > 0 ? `${grouped(count)} ${name}` : []));
  return [`${grouped(done)} of ${grouped(total)} done`, ...parts].join(", ");
}

function finishedText(report: RunReport): string {
  if (report.finishedAt === null || report.startedAt === null) return "";
  const tookMs = Date.parse(report.finishedAt) - Date.parse(report.startedAt);
  return `, finished ${report.finishedAt} (${duration(tookMs)})`;
}

export const runList = listOf("runs", listRuns, {
  empty: "No runs yet. Start one with: simfleet apply FILE",
  columns: [
    { name: "runId", heading: "run" },
    { name: "name" },
    { name: "state", value: stateName },
    { name: "counts.total", heading: "rows" },
    { name: "counts.done", heading: "done" },
    { name: "counts.pending", heading: "pending" },
    { name: "startedAt", heading: "started" },
  ],
});
