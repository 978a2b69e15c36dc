/** Helpers to read results files and messages. */
import { parse } from "csv-parse/sync";

export type ResultRow = Readonly<Record<string, string>>;

export function resultRows(csv: string): ResultRow[] {
  return parse(csv, { columns: true }) as ResultRow[];
}

/** Values of one column, in order. */
export function column(csv: string, name: string): string[] {
  return resultRows(csv).map((row) => row[name] ?? "");
}

/** Number of occurrences of each value. */
export function counted(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** The first run id in a text. */
export function runIdIn(text: string): string {
  return /r-\d{8}-\d{6}-[a-z0-9]{8}/.exec(text)?.[0] ?? "no run id";
}
