/** Lists the rows of a run with their outcomes, page by page. */
import type { Outcome } from "#fleet/run.ts";
import { shownInputs } from "#fleet/sim-operation/sim-operation.ts";
import type { RowReport } from "../contract.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { operationOf } from "../ledger/packing.ts";
import { changesOfRow, firstIndex, reportChanges } from "../plan/plan-rows.ts";
import { type RowResult, rowResults } from "./results.ts";

/** A page ends after this many rows were scanned, whether they match or not. */
const maxScanned = 50_000;

export interface RowQuery {
  readonly outcomes?: readonly Outcome[] | undefined;
  /** Part of the row's key. */
  readonly search?: string | undefined;
  /** The whole reason. */
  readonly reason?: string | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * @param query `cursor` comes from the previous page, the rest filters
 * @throws SimfleetError REQUEST_INVALID for an invalid cursor
 */
export async function rowPage(
  run: RunRecord,
  ledger: Ledger,
  query: RowQuery,
): Promise<{ rows: RowReport[]; nextCursor: string | null }> {
  const from = firstIndex(query.cursor);
  const rows: RowReport[] = [];
  let scanned = 0;
  for await (const result of rowResults(run, ledger, from)) {
    const { row } = result;
    if (rows.length === query.limit || scanned === maxScanned) return { rows, nextCursor: String(row.index) };
    scanned += 1;
    if (isWanted(result, query)) rows.push(rowReport(run, result));
  }
  return { rows, nextCursor: null };
}

function isWanted({ row, outcome, reason }: RowResult, query: RowQuery): boolean {
  const { outcomes = [], search } = query;
  if (outcomes.length > 0 && !outcomes.includes(outcome)) return false;
  if (query.reason !== undefined && query.reason !== reason) return false;
  return search === undefined || row.key.includes(search);
}

/** The JSON form of a row and its outcome. */
export function rowReport(run: RunRecord, result: RowResult): RowReport {
  const { row, outcome, reason, previous, attempts, finishedAt } = result;
  const { line, key, inputs, problem } = row;
  const operation = operationOf(run, row);
  return {
    line,
    key,
    outcome,
    reason,
    attempts,
    inputs: shownInputs(operation, inputs),
    changes: reportChanges(problem === undefined ? changesOfRow(operation, row) : [], previous),
    finishedAt: finishedAt === "" ? null : finishedAt,
  };
}
