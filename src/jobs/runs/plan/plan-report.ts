/** The JSON form of a plan, shared by `plan --json` and the control API. */
import type { PlanReport } from "../contract.ts";
import type { Plan } from "./plan.ts";

export function reportOfPlan(plan: Plan): PlanReport {
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
