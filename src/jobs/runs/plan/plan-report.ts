/** The JSON form of a plan, shared by `plan --json` and the control API. */
import type { PlanReport } from "../contract.ts";
import type { Plan } from "./plan.ts";

export function reportOfPlan(plan: Plan): PlanReport {
  const { source, verdicts, rejected, problems, calls, costly, estimateMs, warnings } = plan;
  const { name, danger, undo } = source.request.operation;
  return {
    ...source.origin,
    sha256: source.sha256,
    operation: name,
    rows: source.counts.rows,
    verdicts,
    calls,
    costly,
    irreversible: danger === "irreversible" ? calls : 0,
    hasUndo: undo !== undefined,
    estimateSeconds: estimateMs === undefined ? null : Math.ceil(estimateMs / 1_000),
    problems: problems.map(({ line, column, code, message }) => ({ line, column, code, message })),
    problemsInAll: rejected,
    warnings,
  };
}
