/** A plan for people and for programs. */
import type { Plan } from "#runs/plan.ts";
import { duration, grouped } from "./output.ts";

const problemsShown = 10;

export function planDocument(plan: Plan): Record<string, unknown> {
  const { source, verdicts, calls, estimateMs, warnings } = plan;
  return {
    ...source.origin,
    sha256: source.sha256,
    rows: source.counts.rows,
    verdicts,
    calls,
    estimateSeconds: estimateMs === undefined ? null : Math.ceil(estimateMs / 1_000),
    problems: source.problems.map(({ line, column, code, message }) => ({ line, column, code, message })),
    problemsInAll: source.counts.invalid,
    warnings,
  };
}

export function planText(plan: Plan): string {
  const { source, verdicts, calls, estimateMs, warnings } = plan;
  const { origin, counts } = source;
  const lines = [
    "file" in origin ? `${origin.file}: ${grouped(counts.rows)} rows` : `${origin.where}: ${grouped(counts.rows)} SIMs`,
    `  ${grouped(verdicts.change)} to change`,
    ...(verdicts.unchanged > 0 ? [`  ${grouped(verdicts.unchanged)} have the class already, by the inventory`] : []),
    ...(verdicts.unknown > 0 ? [`  ${grouped(verdicts.unknown)} not in the inventory`] : []),
    ...(verdicts.duplicate > 0 ? [`  ${grouped(verdicts.duplicate)} repeat an earlier row and share its call`] : []),
    ...(verdicts.conflict > 0 ? [`  ${grouped(verdicts.conflict)} in conflict: one SIM, two speed classes`] : []),
    ...(verdicts.invalid > 0 ? [`  ${grouped(verdicts.invalid)} invalid`] : []),
    ...source.problems.slice(0, problemsShown).map((problem) => `    line ${problem.line}: ${problem.message}`),
  ];
  const more = source.counts.invalid - Math.min(source.problems.length, problemsShown);
  if (more > 0) lines.push(`    … and ${grouped(more)} more; --out FILE writes every row's verdict`);
  lines.push(...warnings.map((warning) => `  warning: ${warning}`));
  lines.push(`${grouped(calls)} ${calls === 1 ? "call" : "calls"}, ${timeText(estimateMs)}`);
  return lines.join("\n");
}

function timeText(estimateMs: number | undefined): string {
  if (estimateMs === undefined) return "time unknown until the platform has told its quota once";
  return estimateMs < 1_000 ? "within the quota of the present window" : `about ${duration(estimateMs)} at the quota`;
}
