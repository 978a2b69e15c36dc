/** Renders a plan as CSV: the input's columns, followed by the verdict of each row. */
import { csvLine } from "#intake/cell.ts";
import { secretColumns } from "#intake/columns.ts";
import { type ClassifiedRow, type KnownFleet, classifyRows } from "./classify.ts";
import type { RowSource } from "./row-source.ts";

export async function* planLines(source: RowSource, fleet: KnownFleet): AsyncGenerator<string> {
  const fields = Object.keys(source.request.operation.sets);
  const secret = secretColumns(source.header, source.request.operation);
  yield csvLine([
    ...source.header,
    "verdict",
    "reason",
    ...fields.flatMap((field) => [`${field}Before`, `${field}After`]),
  ]);
  for await (const batch of classifyRows(source, fleet)) {
    for (const classified of batch) {
      const { row, verdict, changes, before } = classified;
      const cells = source.header.map((_, i) => (secret.has(i) ? "" : (row.cells[i] ?? "")));
      const values = fields.flatMap((_, i) => [before?.[i] ?? "", changes[i]?.[1] ?? ""]);
      yield csvLine([...cells, verdict, reasonOf(classified, source), ...values]);
    }
  }
}

function reasonOf({ row, duplicateOf }: ClassifiedRow, source: RowSource): string {
  if (row.problem !== undefined) return row.problem.message;
  return duplicateOf === undefined ? "" : `the same as line ${source.lineOf(duplicateOf)}`;
}
