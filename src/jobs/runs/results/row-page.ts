/** Lists the rows of a run with their outcomes, page by page. */
import type { Outcome } from "#fleet/run.ts";
import { shownInputs } from "#fleet/sim-operation/sim-operation.ts";
import type { RowReport, SimRun } from "../contract.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { operationOf } from "../ledger/packing.ts";
import { changesOfRow, firstIndex, reportChanges } from "../plan/plan-rows.ts";
import { type RowResult, rowResults } from "./results.ts";
import { reasonMatcher } from "./run-summary.ts";

/** A page ends after this many rows were scanned, whether they match or not. */
const maxScanned = 50_000;

export interface RowQuery {
  readonly outcomes?: readonly Outcome[] | undefined;
  /** Part of the row's key. */
  readonly search?: string | undefined;
  /** The whole reason; `…` stands for any text. */
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
  const wanted = { ...query, matches: query.reason === undefined ? undefined : reasonMatcher(query.reason) };
  const rows: RowReport[] = [];
  let scanned = 0;
  for await (const result of rowResults(run, ledger, from)) {
    const { row } = result;
    if (rows.length === query.limit || scanned === maxScanned) return { rows, nextCursor: String(row.index) };
    scanned += 1;
    if (isWanted(result, wanted)) rows.push(rowReport(run, result));
  }
  return { rows, nextCursor: null };
}

function isWanted(
  { row, outcome, reason }: RowResult,
  query: Omit<RowQuery, "reason"> & { matches?: ReturnType<typeof reasonMatcher> | undefined },
): boolean {
  const { outcomes = [], search } = query;
  if (outcomes.length > 0 && !outcomes.includes(outcome)) return false;
  if (query.matches?.(reason) === false) return false;
  return search === undefined || row.key.includes(search);
}

/** The JSON form of a row and its outcome. */
function rowReport(run: RunRecord, result: RowResult): RowReport {
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

// Finds the runs that have a row for a SIM, newest first. There is no index: a run may have a million rows, and few people
// ask. The rows of runs are scanned instead, up to a bound for each page.

const runsAtOnce = 20;
/** A page ends after this many rows were scanned, whether they match or not. */
const maxScannedInAll = 500_000;

/** @throws SimfleetError REQUEST_INVALID for an invalid cursor */
export async function runsOfSim(
  key: string,
  ledger: Ledger,
  query: { profile: string; limit: number; cursor?: string | undefined },
): Promise<{ runs: SimRun[]; nextCursor: string | null }> {
  const found: SimRun[] = [];
  let scanned = 0;
  let last: string | null = null;
  for await (const run of ledger.newest(query.cursor, runsAtOnce)) {
    if (found.length >= query.limit || scanned >= maxScannedInAll) return { runs: found, nextCursor: last };
    last = run.runId;
    if (run.profile !== query.profile) continue;
    found.push(...(await rowsIn(run, key, ledger)));
    scanned += run.total;
  }
  return { runs: found, nextCursor: null };
}

async function rowsIn(run: RunRecord, key: string, ledger: Ledger): Promise<SimRun[]> {
  const found: SimRun[] = [];
  for (const index of await ledger.rowsOf(run, key)) {
    for await (const result of rowResults(run, ledger, index)) {
      const { runId, name, state, createdAtMs } = run;
      const createdAt = new Date(createdAtMs).toISOString();
      const operation = operationOf(run, result.row).name;
      found.push({ runId, name, state, createdAt, operation, ...rowReport(run, result) });
      break;
    }
  }
  return found;
}
