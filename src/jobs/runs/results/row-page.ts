/** Rows of a planned run with what it would do, and of a run with their outcomes: in pages, or as lines of a file. */
import { asList } from "#contract/fields.ts";
import type { Call } from "#contract/route.ts";
import { isoTime } from "#core/time.ts";
import { type FieldChange, type SimOperation, changesOf, shownInputs } from "#fleet/sim-operation/sim-operation.ts";
import { csvLine } from "#intake/cell.ts";
import { secretColumns } from "#intake/columns.ts";
import type { PlanRow, RowReport, SimRun, listPlanRows, listRunRows } from "../contract.ts";
import { type Ledger, invalidCursor } from "../ledger/ledger.ts";
import { type FieldValues, type StoredRow, operationOf } from "../ledger/packing.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { verdictOfRow } from "../plan/classify.ts";
import { type RowResult, rowResults } from "./results.ts";
import { reasonMatcher } from "./run-summary.ts";

type RowsQuery = Call<typeof listRunRows>["query"];
type Page = Pick<RowsQuery, "limit" | "cursor">;

/** A page ends after this many rows were scanned, whether they match or not. */
const maxScanned = 50_000;

/** @throws SimfleetError REQUEST_INVALID for an invalid cursor */
async function readPage<Row>(
  run: RunRecord,
  ledger: Ledger,
  { limit, cursor = "0" }: Page,
  pick: (result: RowResult) => Row | undefined,
): Promise<{ rows: Row[]; nextCursor: string | null }> {
  if (!/^\d{1,9}$/.test(cursor) || Number(cursor) >= Math.max(1, run.total)) throw invalidCursor(cursor);
  const rows: Row[] = [];
  let scanned = 0;
  for await (const result of rowResults(run, ledger, Number(cursor))) {
    if (rows.length === limit || scanned === maxScanned) return { rows, nextCursor: String(result.row.index) };
    scanned += 1;
    const row = pick(result);
    if (row !== undefined) rows.push(row);
  }
  return { rows, nextCursor: null };
}

/** @throws SimfleetError REQUEST_INVALID for an invalid cursor */
export function planRowPage(run: RunRecord, ledger: Ledger, query: Call<typeof listPlanRows>["query"]) {
  const { verdict: asked, ...page } = query;
  return readPage(run, ledger, page, ({ row }): PlanRow | undefined => {
    const verdict = verdictOfRow(row);
    if ((asked ?? verdict) !== verdict) return undefined;
    return { ...toRow(run, row, row.before), verdict, problem: row.problem };
  });
}

/** A row's fields that plans and runs show. @param before values of the fields that it sets; undefined if not known */
function toRow(run: RunRecord, row: StoredRow, before: FieldValues) {
  const operation = operationOf(run, row);
  const { line, key } = row;
  const changes = changesOfRow(operation, row).map(([field, after], i) => ({
    field,
    ...(before === undefined ? {} : { before: before[i] ?? null }),
    after,
  }));
  return { line, key, inputs: shownInputs(operation, row.inputs), changes };
}

/** The changes of a row whose inputs are known; none of one that cannot be read, or that an undo leaves alone. */
function changesOfRow(operation: SimOperation, { key, inputs, problem }: StoredRow): readonly FieldChange[] {
  const isRead = (problem === undefined || problem.code === "rejected") && inputs.length === operation.inputs.length;
  return isRead ? changesOf(operation, key, inputs) : [];
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

/** @throws SimfleetError REQUEST_INVALID for an invalid cursor */
export function rowPage(run: RunRecord, ledger: Ledger, query: RowsQuery) {
  const { outcome, search = "", reason, ...page } = query;
  const outcomes = asList(outcome) ?? [];
  const matches = reason === undefined ? () => true : reasonMatcher(reason);
  return readPage(run, ledger, page, (result) => {
    const isWanted = outcomes.length === 0 || outcomes.includes(result.outcome);
    return isWanted && result.row.key.includes(search) && matches(result.reason) ? rowReport(run, result) : undefined;
  });
}

/** The JSON form of a row and its outcome. */
function rowReport(run: RunRecord, { row, outcome, reason, previous, attempts, finishedAtMs }: RowResult): RowReport {
  const shown = toRow(run, row, previous);
  const changes = row.problem === undefined ? shown.changes : [];
  return { ...shown, changes, outcome, reason, attempts, finishedAt: isoTime(finishedAtMs) };
}

// Finds the runs that have a row for a SIM, newest first. There is no index: a run may have a million rows, and few
// people ask. The rows of runs are scanned instead, up to a bound for each page.

const runsAtOnce = 20;
/** A page ends after this many rows were scanned, whether they match or not. */
const maxScannedInAll = 500_000;

/** @throws SimfleetError REQUEST_INVALID for an invalid cursor */
export async function runsOfSim(key: string, profile: string, ledger: Ledger, page: Page) {
  const found: SimRun[] = [];
  let scanned = 0;
  let last: string | null = null;
  for await (const run of ledger.newest(page.cursor, runsAtOnce)) {
    if (found.length >= page.limit || scanned >= maxScannedInAll) return { runs: found, nextCursor: last };
    last = run.runId;
    if (run.profile !== profile) continue;
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
