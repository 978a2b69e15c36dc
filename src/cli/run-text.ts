/** Runs for people. */
import { isRunOver } from "#fleet/run.ts";
import type { RunReport } from "#runs/report.ts";
import { duration, grouped, table } from "./output.ts";

export function runText(report: RunReport): string {
  const { counts } = report;
  const lines = [
    `${report.runId}  ${report.name}`,
    `  ${report.state}${report.reason === undefined ? "" : `: ${report.reason}`}`,
    `  ${countsText(report)}`,
    `  ${grouped(report.calls)} calls, ${grouped(report.throttled)} answered with 429`,
  ];
  if (isRunOver(report.state) && counts.pending > 0) {
    lines.push("  calls that were out when it ended have not all been answered: look again in a moment");
  }
  if (report.startedAt !== null) lines.push(`  started ${report.startedAt}${finishedText(report)}`);
  if (report.etaSeconds !== null) lines.push(`  about ${duration(report.etaSeconds * 1_000)} left`);
  if (report.retryOf !== undefined) lines.push(`  redoes rows of ${report.retryOf}`);
  if (counts.failed + (report.state === "completed" ? 0 : counts.cancelled) > 0) {
    lines.push(`  redo what did not succeed: simfleet runs retry ${report.runId}`);
  }
  return lines.join("\n");
}

export function countsText({ counts }: RunReport): string {
  const { total, ...outcomes } = counts;
  const parts = Object.entries(outcomes)
    .filter(([name, count]) => count > 0 || name === "done")
    .map(([name, count]) => `${grouped(count)} ${name}`);
  return `${grouped(total)} rows: ${parts.join(", ")}`;
}

function finishedText(report: RunReport): string {
  if (report.finishedAt === null || report.startedAt === null) return "";
  const tookMs = Date.parse(report.finishedAt) - Date.parse(report.startedAt);
  return `, ended ${report.finishedAt} (${duration(tookMs)})`;
}

export function runTable(runs: readonly RunReport[]): string {
  if (runs.length === 0) return "No runs yet. Start one with: simfleet apply FILE";
  const rows = runs.map((run) => [
    run.runId,
    run.name,
    run.state,
    run.counts.total,
    run.counts.done,
    run.counts.rejected + run.counts.failed,
    run.counts.pending,
    run.startedAt ?? "",
  ]);
  return table(["RUN", "NAME", "STATE", "ROWS", "DONE", "NOT DONE", "PENDING", "STARTED"], rows);
}
