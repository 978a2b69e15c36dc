/** Renders a plan as text for a terminal. */
import { setSpeedClassName } from "#fleet/sim-operation/sim-operation.ts";
import type { PlanReport } from "../contract.ts";
import { costText } from "./confirmation.ts";
import { counted, grouped, duration } from "#cli/format.ts";

const problemsShown = 10;

export function planText(plan: PlanReport): string {
  const { file, where, rows, verdicts, calls, estimateSeconds, problems, problemsInAll, warnings } = plan;
  const isSpeedClass = plan.operation === setSpeedClassName;
  const lines = [
    file === undefined ? `${where ?? ""}: ${counted(rows, "SIM")}` : `${file}: ${counted(rows, "row")}`,
    ...(isSpeedClass ? [] : [`  ${plan.operation}`]),
    `  ${grouped(verdicts.change)} to change`,
    ...(verdicts.unchanged > 0
      ? [
          `  ${isSpeedClass ? `${grouped(verdicts.unchanged)} already have the class, according to the inventory` : `${grouped(verdicts.unchanged)} already as requested, according to the inventory`}`,
        ]
      : []),
    ...(verdicts["not-in-inventory"] > 0 ? [`  ${grouped(verdicts["not-in-inventory"])} not in the inventory`] : []),
    ...(verdicts.duplicate > 0 ? [`  ${grouped(verdicts.duplicate)} duplicate (sent once)`] : []),
    ...(verdicts.conflict > 0 ? [`  ${grouped(verdicts.conflict)} in conflict: one SIM, different values`] : []),
    ...(verdicts["not-allowed"] > 0 ? [`  ${grouped(verdicts["not-allowed"])} not allowed by the operation`] : []),
    ...(verdicts.invalid > 0 ? [`  ${grouped(verdicts.invalid)} invalid`] : []),
    ...problems.slice(0, problemsShown).map((problem) => `    line ${problem.line}: ${problem.message}`),
  ];
  const more = problemsInAll - Math.min(problems.length, problemsShown);
  if (more > 0) lines.push(`    … and ${grouped(more)} more; --out FILE writes every row's verdict`);
  lines.push(...warnings.map((warning) => `  warning: ${warning}`));
  if (plan.costly > 0) lines.push(`  ${costText(plan)}`);
  if (plan.irreversible > 0) lines.push(`  ${grouped(plan.irreversible)} of the calls are irreversible`);
  else if (!plan.hasUndo) lines.push(`  ${plan.operation} has no undo`);
  lines.push(`${counted(calls, "call")}, ${timeText(estimateSeconds)}`);
  return lines.join("\n");
}

function timeText(seconds: number | null): string {
  if (seconds === null) return "duration unknown until the first response reports the quota";
  return seconds < 1 ? "fits in the current quota window" : `about ${duration(seconds * 1_000)} at the quota`;
}
