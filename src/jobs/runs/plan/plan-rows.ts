/** The JSON form of a plan's rows: what a run would do with each. */
import { type FieldChange, shownInputs } from "#fleet/sim-operation/sim-operation.ts";
import type { PlanRow } from "../contract.ts";
import type { FieldValues } from "../ledger/packing.ts";
import { type KnownFleet, classifyRows } from "./classify.ts";
import type { RowSource } from "./row-source.ts";

/** Yields all rows in order, in constant memory. */
export async function* planRows(source: RowSource, fleet: KnownFleet): AsyncGenerator<PlanRow> {
  for await (const batch of classifyRows(source, fleet)) {
    for (const { row, verdict, changes, before } of batch) {
      const { line, key, inputs, problem } = row;
      yield {
        line,
        key,
        verdict,
        inputs: shownInputs(source.request.operation, inputs),
        changes: reportChanges(changes, before),
        ...(problem === undefined ? {} : { problem }),
      };
    }
  }
}

/** @param before values in the order of the changes; undefined if they are not known */
export function reportChanges(changes: readonly FieldChange[], before: FieldValues): PlanRow["changes"] {
  return changes.map(([field, after], i) => {
    return before === undefined ? { field, after } : { field, before: before[i] ?? null, after };
  });
}
