/** Renders a plan as CSV: the input's columns, followed by the verdict of each row. */
import { csvLine } from "#intake/cell.ts";
import { type ClassifiedRow, type KnownFleet, classifyRows } from "./classify.ts";
import type { RowSource } from "./row-source.ts";

export async function* planLines(source: RowSource, fleet: KnownFleet): AsyncGenerator<string> {
  yield csvLine([...source.header, "verdict", "reason", "speedClassBefore", "speedClassAfter"]);
  for await (const batch of classifyRows(source, fleet)) {
    for (const classified of batch) {
      const { row, verdict, speedClassBefore } = classified;
      const cells = source.header.map((_, i) => row.cells[i] ?? "");
      const after = row.problem === undefined ? row.speedClass : "";
      yield csvLine([...cells, verdict, reasonOf(classified, source), speedClassBefore ?? "", after]);
    }
  }
}

function reasonOf({ row, duplicateOf }: ClassifiedRow, source: RowSource): string {
  if (row.problem !== undefined) return row.problem.message;
  return duplicateOf === undefined ? "" : `the same as line ${source.lineOf(duplicateOf)}`;
}
