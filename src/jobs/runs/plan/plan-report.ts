/** A plan as programs are shown it: the one shape of `plan --json` and of the control API. */
import type { RowProblemCode } from "#fleet/run.ts";
import type { RowVerdict } from "./classify.ts";
import type { Plan } from "./plan.ts";

export interface PlanReport {
  /** The file that was surveyed, or the filter; one of the two. */
  readonly file?: string;
  readonly where?: string;
  /** Of the rows, hex. */
  readonly sha256: string;
  readonly rows: number;
  readonly verdicts: Readonly<Record<RowVerdict, number>>;
  readonly calls: number;
  /** Least time at the present quota; null while that is unknown. */
  readonly estimateSeconds: number | null;
  /** The first problems, in the order of the rows. */
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
