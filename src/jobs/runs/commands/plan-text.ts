/** Renders a plan as text for a terminal. */
import { setSpeedClassName } from "#fleet/sim-operation/sim-operation.ts";
import type { PlanReport } from "../contract.ts";
import { costText } from "./confirmation.ts";
import { planStrings } from "../strings.ts";

const problemsShown = 10;

export function planText(plan: PlanReport): string {
  const { file, where, rows, verdicts, calls, estimateSeconds, problems, problemsInAll, warnings } = plan;
  const isSpeedClass = plan.operation === setSpeedClassName;
  const lines = [
    file === undefined ? planStrings.ofFilter(where ?? "", rows) : planStrings.ofFile(file, rows),
    ...(isSpeedClass ? [] : [`  ${plan.operation}`]),
    `  ${planStrings.change(verdicts.change)}`,
    ...(verdicts.unchanged > 0
      ? [`  ${isSpeedClass ? planStrings.inClass(verdicts.unchanged) : planStrings.unchanged(verdicts.unchanged)}`]
      : []),
    ...(verdicts.unknown > 0 ? [`  ${planStrings.notInInventory(verdicts.unknown)}`] : []),
    ...(verdicts.duplicate > 0 ? [`  ${planStrings.duplicate(verdicts.duplicate)}`] : []),
    ...(verdicts.conflict > 0 ? [`  ${planStrings.conflict(verdicts.conflict)}`] : []),
    ...(verdicts["not-allowed"] > 0 ? [`  ${planStrings.notAllowed(verdicts["not-allowed"])}`] : []),
    ...(verdicts.invalid > 0 ? [`  ${planStrings.invalid(verdicts.invalid)}`] : []),
    ...problems.slice(0, problemsShown).map((problem) => `    ${planStrings.problem(problem.line, problem.message)}`),
  ];
  const more = problemsInAll - Math.min(problems.length, problemsShown);
  if (more > 0) lines.push(`    ${planStrings.more(more)}`);
  lines.push(...warnings.map((warning) => `  ${planStrings.warning(warning)}`));
  if (plan.costly > 0) lines.push(`  ${costText(plan)}`);
  if (plan.irreversible > 0) lines.push(`  ${planStrings.irreversible(plan.irreversible)}`);
  else if (!plan.hasUndo) lines.push(`  ${planStrings.noUndo(plan.operation)}`);
  lines.push(planStrings.calls(calls, timeText(estimateSeconds)));
  return lines.join("\n");
}

function timeText(seconds: number | null): string {
  if (seconds === null) return planStrings.timeUnknown;
  return seconds < 1 ? planStrings.timeShort : planStrings.time(seconds * 1_000);
}
