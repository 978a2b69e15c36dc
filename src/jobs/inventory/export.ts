/** Exports the inventory: as CSV for spreadsheets and for `plan` and `apply`, or as NDJSON with raw values. */
import type { KeyColumn } from "#fleet/sim/sim.ts";
import { csvLine } from "#intake/cell.ts";
import type { FoundSim } from "./store/inventory.ts";

export type ExportFormat = "csv" | "ndjson";

/** When each SIM was seen, and what changed it last. */
export const timeColumns: readonly string[] = ["addedAt", "updatedAt", "updatedBy", "seenAt", "goneAt"];

/**
 * @param options `columns` of the CSV; by default the key, the stored fields (an object as JSON) and the times
 */
export async function* exportLines(
  sims: AsyncIterable<readonly FoundSim[]>,
  options: {
    readonly format: ExportFormat;
    readonly columns?: readonly string[] | undefined;
    readonly keyColumn: KeyColumn;
    readonly fields: readonly string[];
  },
  show: (found: FoundSim) => Readonly<Record<string, unknown>>,
): AsyncGenerator<string> {
  if (options.format === "ndjson") {
    for await (const batch of sims) yield batch.map((found) => `${JSON.stringify(show(found))}\n`).join("");
    return;
  }
  const columns = options.columns ?? [options.keyColumn, ...options.fields, ...timeColumns];
  yield csvLine(columns);
  for await (const batch of sims) {
    yield batch
      .map((found) => {
        const document = show(found);
        return csvLine(columns.map((column) => cellOf(document, column)));
      })
      .join("");
  }
}

function cellOf(document: Readonly<Record<string, unknown>>, column: string): string {
  const value = Object.hasOwn(document, column) ? document[column] : memberOf(document, column);
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function memberOf(document: Readonly<Record<string, unknown>>, column: string): unknown {
  const dot = column.indexOf(".");
  const outer = dot < 0 ? undefined : document[column.slice(0, dot)];
  const name = column.slice(dot + 1);
  return typeof outer === "object" && outer !== null && Object.hasOwn(outer, name)
    ? Reflect.get(outer, name)
    : undefined;
}
