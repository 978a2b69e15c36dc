/** The JSON form of a plan's rows: what a run would do with each. */
import type { RowProblemCode } from "#fleet/run.ts";
import { type KnownFleet, type RowVerdict, classifyRows } from "./classify.ts";
import type { RowSource } from "./row-source.ts";

export interface PlanRow {
  readonly line: number;
  readonly key: string;
  readonly verdict: RowVerdict;
  /** Current speed class, if the inventory knows it. */
  readonly before: string | null;
  /** Requested speed class; null if the row has none. */
  readonly after: string | null;
  readonly problem?: { readonly code: RowProblemCode; readonly column: string; readonly message: string };
}

/** Yields all rows in order, in constant memory. */
export async function* planRows(source: RowSource, fleet: KnownFleet): AsyncGenerator<PlanRow> {
  for await (const batch of classifyRows(source, fleet)) {
    for (const { row, verdict, speedClassBefore } of batch) {
      const { line, key, speedClass, problem } = row;
      const after = problem === undefined ? speedClass : null;
      yield {
        line,
        key,
        verdict,
        before: speedClassBefore ?? null,
        after,
        ...(problem === undefined ? {} : { problem }),
      };
    }
  }
}
