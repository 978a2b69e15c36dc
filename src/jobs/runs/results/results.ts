/**
 * The results of a run, rendered from the ledger on request: each row of the input, unchanged and in order, followed by
 * its outcome. Uses constant memory: one segment at a time.
 */
import { isoTime } from "#core/time.ts";
import { type Outcome, isRunOver } from "#fleet/run.ts";
import { previousColumns } from "#fleet/sim-operation/sim-operation.ts";
import { csvLine } from "#intake/cell.ts";
import type { Ledger, SegmentState } from "../ledger/ledger.ts";
import { type Settled, type StoredRow, doubtOf } from "../ledger/packing.ts";
import { type RunRecord, assertHasRows } from "../ledger/run-record.ts";

/** A row and its outcome. */
export interface RowResult extends Omit<Settled, "outcome" | "finishedAtMs"> {
  readonly row: StoredRow;
  readonly outcome: Outcome;
  /** Undefined while there is no outcome. */
  readonly finishedAtMs: number | undefined;
}

/** All rows of a run with their outcomes, in the order of the input; `from` is the index of the first. */
export async function* rowResults(run: RunRecord, ledger: Ledger, from = 0): AsyncGenerator<RowResult> {
  assertHasRows(run);
  const statusOfEarlier = earlierRows(run, ledger);
  for (let segment = findSegment(run, from); segment < run.segments.length; segment += 1) {
    const state = await ledger.segment(run, segment);
    for (const [place, row] of state.rows.entries()) {
      if (row.index < from) continue;
      const first = row.duplicateOf;
      yield toResult(run, row, first === undefined ? statusOf(state, place) : await statusOfEarlier(first));
    }
  }
}

/** The state of one row: its outcome, or whether its call may have been applied. */
type RowStatus = ReturnType<typeof statusOf>;

function statusOf({ rows, settled, tries }: SegmentState, place: number) {
  return { skipped: rows[place]?.skipped, settled: settled.get(place), doubt: doubtOf(tries.get(place)) };
}

/** Finds the segment that contains the row with this index. */
function findSegment({ segments }: RunRecord, index: number): number {
  const after = segments.findIndex(({ firstRow }) => firstRow > index);
  return Math.max(0, (after === -1 ? segments.length : after) - 1);
}

function toResult(run: RunRecord, row: StoredRow, { skipped, settled, doubt }: RowStatus): RowResult {
  const none = { row, previous: undefined, attempts: 0, finishedAtMs: run.createdAtMs };
  if (row.problem !== undefined) return { ...none, outcome: "rejected", reason: row.problem.message };
  if (skipped !== undefined) {
    return { ...none, row: { ...row, skipped }, outcome: "skipped", reason: skipped, previous: row.before };
  }
  if (settled !== undefined) return { row, ...settled };
  const isCut = isRunOver(run.state) && !run.isEnding;
  const reason = isCut ? `${run.reason ?? ""}${doubt}` : "";
  const outcome = isCut ? "cancelled" : "pending";
  return { ...none, outcome, reason, previous: row.before, finishedAtMs: undefined };
}

/** The results as text, line by line. */
export async function* resultLines(
  run: RunRecord,
  ledger: Ledger,
  options: { format: "csv" | "ndjson"; outcomes?: readonly Outcome[] | undefined },
): AsyncGenerator<string> {
  const names = previousColumns(run.operations[0]);
  const columns = ["outcome", "reason", ...names, "attempts", "finishedAt"];
  const carried = carriedColumns(run.header, columns);
  if (options.format === "csv") yield csvLine([...run.header.slice(0, carried), ...columns]);
  for await (const result of rowResults(run, ledger)) {
    if (options.outcomes !== undefined && options.outcomes.length > 0 && !options.outcomes.includes(result.outcome))
      continue;
    const { row, outcome, reason, attempts } = result;
    const finishedAt = isoTime(result.finishedAtMs) ?? "";
    const previous = names.map((_, i) => result.previous?.[i] ?? "");
    // Pad or cut the row, so that its outcome is in the right column.
    const cells = Array.from({ length: carried }, (_, i) => row.cells[i] ?? "");
    if (options.format === "csv") {
      yield csvLine([...cells, outcome, reason, ...previous, String(attempts), finishedAt]);
    } else {
      const input = Object.fromEntries(run.header.slice(0, carried).map((name, i) => [name, cells[i] ?? ""]));
      const values = Object.fromEntries(names.map((name, i) => [name, previous[i]]));
      yield `${JSON.stringify({ line: row.line, input, outcome, reason, ...values, attempts, finishedAt })}\n`;
    }
  }
}

/** If a results file is submitted again, its old outcome columns are replaced by the new ones. */
function carriedColumns(header: readonly string[], columns: readonly string[]): number {
  const tail = header.slice(-columns.length);
  return columns.every((name, i) => tail[i] === name) ? header.length - columns.length : header.length;
}

/** Looks up the status of earlier rows for their duplicates; keeps the last few segments. */
function earlierRows(run: RunRecord, ledger: Ledger): (index: number) => Promise<RowStatus> {
  const recent = new Map<number, SegmentState>();
  return async (index) => {
    const segment = findSegment(run, index);
    const state = recent.get(segment) ?? (await ledger.segment(run, segment));
    if (recent.size >= 8 && !recent.has(segment)) recent.delete(recent.keys().next().value ?? 0);
    recent.set(segment, state);
    return statusOf(state, index - (run.segments[segment]?.firstRow ?? 0));
  };
}
