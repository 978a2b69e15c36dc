/** The rows of a planned run with what the run would do with each: page by page, or as lines of a CSV file. */
import { SimfleetError } from "#core/errors.ts";
import { type FieldChange, type SimOperation, changesOf, shownInputs } from "#fleet/sim-operation/sim-operation.ts";
import { csvLine } from "#intake/cell.ts";
import { secretColumns } from "#intake/columns.ts";
import type { PlanRow, RowVerdict } from "../contract.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type FieldValues, type StoredRow, operationOf } from "../ledger/packing.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { rowResults } from "../results/results.ts";
import { verdictOfRow } from "./classify.ts";

/** A page ends after this many rows were scanned, whether they match or not. */
const maxScanned = 50_000;

/** @throws SimfleetError REQUEST_INVALID for an invalid cursor */
export async function planRowPage(
  run: RunRecord,
  ledger: Ledger,
  query: { verdict?: RowVerdict | undefined; limit: number; cursor?: string | undefined },
): Promise<{ rows: PlanRow[]; nextCursor: string | null }> {
  const rows: PlanRow[] = [];
  let scanned = 0;
  for await (const { row } of rowResults(run, ledger, firstIndex(query.cursor, run.total))) {
    if (rows.length === query.limit || scanned === maxScanned) return { rows, nextCursor: String(row.index) };
    scanned += 1;
    if (query.verdict === undefined || verdictOfRow(row) === query.verdict) rows.push(planRow(run, row));
  }
  return { rows, nextCursor: null };
}

/** @throws SimfleetError REQUEST_INVALID if there is no such row */
export function firstIndex(cursor: string | undefined, rows = Number.POSITIVE_INFINITY): number {
  if (cursor === undefined) return 0;
  if (/^\d{1,9}$/.test(cursor) && Number(cursor) < rows) return Number(cursor);
  throw new SimfleetError(
    "REQUEST_INVALID",
    `${JSON.stringify(cursor)} is not a valid cursor: use the nextCursor of the previous page`,
  );
}

function planRow(run: RunRecord, row: StoredRow): PlanRow {
  const operation = operationOf(run, row);
  const { line, key, inputs, problem } = row;
  return {
    line,
    key,
    verdict: verdictOfRow(row),
    inputs: shownInputs(operation, inputs),
    changes: reportChanges(changesOfRow(operation, row), row.before),
    ...(problem === undefined ? {} : { problem: { column: "", ...problem } }),
  };
}

/** The changes of a row whose inputs are known; none of one that cannot be read, or that an undo leaves alone. */
export function changesOfRow(operation: SimOperation, { key, inputs, problem }: StoredRow): readonly FieldChange[] {
  const isRead = (problem === undefined || problem.code === "not-allowed") && inputs.length === operation.inputs.length;
  return isRead ? changesOf(operation, key, inputs) : [];
}

/** @param before values in the order of the changes; undefined if they are not known */
export function reportChanges(changes: readonly FieldChange[], before: FieldValues): PlanRow["changes"] {
  return changes.map(([field, after], i) => {
    return before === undefined ? { field, after } : { field, before: before[i] ?? null, after };
  });
}

/** Renders a plan as CSV: the input's columns, followed by the verdict of each row. */
export async function* planLines(run: RunRecord, ledger: Ledger): AsyncGenerator<string> {
  const [operation] = run.operations;
  const fields = Object.keys(operation.sets);
  const secret = secretColumns(run.header, operation);
  const lines: number[] = [];
  const values = fields.flatMap((field) => [`${field}Before`, `${field}After`]);
  yield csvLine([...run.header, "verdict", "reason", ...values]);
  for await (const { row } of rowResults(run, ledger)) {
    const { cells, before, problem, duplicateOf } = row;
    lines.push(row.line);
    const changes = changesOfRow(operationOf(run, row), row);
    const shown = run.header.map((_, i) => (secret.has(i) ? "" : (cells[i] ?? "")));
    const same = duplicateOf === undefined ? "" : `the same as line ${lines[duplicateOf] ?? ""}`;
    const shownValues = fields.flatMap((_, i) => [before?.[i] ?? "", changes[i]?.[1] ?? ""]);
    yield csvLine([...shown, verdictOfRow(row), problem?.message ?? same, ...shownValues]);
  }
}
