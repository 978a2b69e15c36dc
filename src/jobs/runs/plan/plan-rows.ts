/** The JSON form of a plan's rows: what a run would do with each. */
import type { PlanRow } from "../contract.ts";
import { type KnownFleet, classifyRows } from "./classify.ts";
import type { RowSource } from "./row-source.ts";

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
