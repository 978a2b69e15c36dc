/** A plan row by row, as programs are shown it: what a run would do with each. */
import type { RowProblemCode } from "#fleet/run.ts";
import { type KnownFleet, type RowVerdict, classifyRows } from "./classify.ts";
import type { RowSource } from "./row-source.ts";

export interface PlanRow {
  readonly line: number;
  readonly key: string;
  readonly verdict: RowVerdict;
  /** Speed class before, where the inventory knows one. */
  readonly before: string | null;
  /** The wanted one; null where the row has none. */
  readonly after: string | null;
  readonly problem?: { readonly code: RowProblemCode; readonly column: string; readonly message: string };
}

/** All rows in their order; flat memory. */
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
