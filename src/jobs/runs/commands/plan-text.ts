/** Renders a plan as text for a terminal. */
import type { PlanReport } from "../contract.ts";
import { duration, grouped } from "#cli/output.ts";

const problemsShown = 10;

export function planText(plan: PlanReport): string {
  const { file, where, rows, verdicts, calls, estimateSeconds, problems, problemsInAll, warnings } = plan;
  const lines = [
    file === undefined ? `${where ?? ""}: ${grouped(rows)} SIMs` : `${file}: ${grouped(rows)} rows`,
    `  ${grouped(verdicts.change)} to change`,
    ...(verdicts.unchanged > 0 ? [`  ${grouped(verdicts.unchanged)} already have the class, by the inventory`] : []),
    ...(verdicts.unknown > 0 ? [`  ${grouped(verdicts.unknown)} not in the inventory`] : []),
    ...(verdicts.duplicate > 0 ? [`  ${grouped(verdicts.duplicate)} duplicate (sent once)`] : []),
    ...(verdicts.conflict > 0 ? [`  ${grouped(verdicts.conflict)} in conflict: one SIM, two speed classes`] : []),
    ...(verdicts.invalid > 0 ? [`  ${grouped(verdicts.invalid)} invalid`] : []),
    ...problems.slice(0, problemsShown).map((problem) => `    line ${problem.line}: ${problem.message}`),
  ];
  const more = problemsInAll - Math.min(problems.length, problemsShown);
  if (more > 0) lines.push(`    … and ${grouped(more)} more; --out FILE writes every row's verdict`);
  lines.push(...warnings.map((warning) => `  warning: ${warning}`));
  lines.push(`${grouped(calls)} ${calls === 1 ? "call" : "calls"}, ${timeText(estimateSeconds)}`);
  return lines.join("\n");
}

function timeText(seconds: number | null): string {
  if (seconds === null) return "duration unknown until the first response reports the quota";
  return seconds < 1 ? "fits in the current quota window" : `about ${duration(seconds * 1_000)} at the quota`;
}
