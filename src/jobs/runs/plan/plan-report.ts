/** The JSON form of a plan, shared by `plan --json` and the control API. */
import type { RowProblemCode } from "#fleet/run.ts";
import type { RowVerdict } from "./classify.ts";
import type { Plan } from "./plan.ts";

export interface PlanReport {
  /** The surveyed file, or the filter; exactly one of the two is set. */
  readonly file?: string;
  readonly where?: string;
  /** SHA-256 of the rows, hex. */
  readonly sha256: string;
  readonly rows: number;
  readonly verdicts: Readonly<Record<RowVerdict, number>>;
  readonly calls: number;
  /** Minimum time at the current quota; null while the quota is unknown. */
  readonly estimateSeconds: number | null;
  /** The first problems, in row order. */
  readonly problems: readonly {
    readonly line: number;
    readonly column: string;
    readonly code: RowProblemCode;
    readonly message: string;
  }[];
  readonly problemsInAll: number;
  readonly warnings: readonly string[];
}

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
