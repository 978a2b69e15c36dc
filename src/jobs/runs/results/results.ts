/**
 * The results of a run, rendered from the ledger on request: each row of the input, unchanged and in order, followed by its
 * outcome. Uses constant memory: one segment at a time.
 */
import { access, constants, lstat, realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { FileRefusedError, isOurs } from "#core/files/open-file.ts";
import { replaceFile, writeInto } from "#core/files/write-file.ts";
import { type Outcome, isRunOver } from "#fleet/run.ts";
import { previousColumns } from "#fleet/sim-operation/sim-operation.ts";
import { csvLine } from "#intake/cell.ts";
import type { Ledger, SegmentState } from "../ledger/ledger.ts";
import { type Settled, type StoredRow, doubtOf } from "../ledger/packing.ts";
import { type RunRecord, assertHasRows } from "../ledger/run-record.ts";

/** The columns that results add to those of the input. */
function resultColumns({ operations }: Pick<RunRecord, "operations">): readonly string[] {
  return ["outcome", "reason", ...previousColumns(operations[0]), "attempts", "finishedAt"];
}

/** A row and its outcome. */
export interface RowResult extends Omit<Settled, "outcome" | "finishedAtMs"> {
  readonly row: StoredRow;
  readonly outcome: Outcome;
  /** ISO 8601, UTC; empty while there is no outcome. */
  readonly finishedAt: string;
}

/** All rows of a run with their outcomes, in the order of the input; `from` is the index of the first. */
export async function* rowResults(run: RunRecord, ledger: Ledger, from = 0): AsyncGenerator<RowResult> {
  assertHasRows(run);
  const statusOfEarlier = earlierRows(run, ledger);
  for (let segment = segmentOf(run, from); segment < run.segments.length; segment += 1) {
    const state = await ledger.segment(run, segment);
    for (const [place, row] of state.rows.entries()) {
      if (row.index < from) continue;
      const first = row.duplicateOf;
      yield resultOf(run, row, first === undefined ? statusOf(state, place) : await statusOfEarlier(first));
    }
  }
}

/** The state of one row: its outcome, or whether its call may have been applied. */
type RowStatus = ReturnType<typeof statusOf>;

function statusOf({ rows, settled, tries }: SegmentState, place: number) {
  return { skipped: rows[place]?.skipped, settled: settled.get(place), doubt: doubtOf(tries.get(place)) };
}

/** Finds the segment that contains the row with this index. */
function segmentOf({ segments }: RunRecord, index: number): number {
  const after = segments.findIndex(({ firstRow }) => firstRow > index);
  return Math.max(0, (after === -1 ? segments.length : after) - 1);
}

function resultOf(run: RunRecord, row: StoredRow, { skipped, settled, doubt }: RowStatus): RowResult {
  const finishedAt = new Date(run.createdAtMs).toISOString();
  const none = { row, previous: undefined, attempts: 0 };
  if (row.problem !== undefined) return { ...none, outcome: "rejected", reason: row.problem.message, finishedAt };
  if (skipped !== undefined) {
    const own = { ...row, skipped };
    return { ...none, row: own, outcome: "skipped", reason: skipped, previous: row.before, finishedAt };
  }
  if (settled !== undefined) {
    const { finishedAtMs, ...result } = settled;
    return { row, ...result, finishedAt: new Date(finishedAtMs).toISOString() };
  }
  const isCut = isRunOver(run.state) && !run.isEnding;
  const reason = isCut ? `${run.reason ?? ""}${doubt}` : "";
  return { ...none, outcome: isCut ? "cancelled" : "pending", reason, previous: row.before, finishedAt: "" };
}

/** The results as text, line by line. */
export async function* resultLines(
  run: RunRecord,
  ledger: Ledger,
  options: { format: "csv" | "ndjson"; outcomes?: readonly Outcome[] | undefined },
): AsyncGenerator<string> {
  const columns = resultColumns(run);
  const carried = carriedColumns(run.header, columns);
  const names = previousColumns(run.operations[0]);
  if (options.format === "csv") yield csvLine([...run.header.slice(0, carried), ...columns]);
  for await (const result of rowResults(run, ledger)) {
    if (options.outcomes !== undefined && options.outcomes.length > 0 && !options.outcomes.includes(result.outcome))
      continue;
    const { row, outcome, reason, attempts, finishedAt } = result;
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

/** @throws SimfleetError USAGE for `-`, which would become a file of that name */
function assertFileName(path: string): void {
  if (path === "-")
    throw new SimfleetError("USAGE", "--out takes the name of a file; simfleet runs results RUN prints");
}

/**
 * Writes a file atomically. Anything but a regular file, such as a pipe or /dev/stdout, is written in place, since a rename
 * would replace it with a file. A link is followed if it belongs to this user or root, and rejected otherwise.
 * @param fix what to suggest if the file cannot be written: a sentence without its full stop
 * @throws SimfleetError RESULTS_NOT_WRITABLE
 */
export async function writeResults(path: string, lines: AsyncIterable<string>, fix: string): Promise<void> {
  assertFileName(path);
  try {
    const present = await stat(path).catch(() => undefined);
    await refuseForeignLink(path);
    if (present === undefined) await replaceFile(path, lines, { mode: 0o666 });
    else if (present.isFile()) await replaceFile(await realpath(path), lines, { mode: 0o666 });
    else await writeInto(path, lines);
  } catch (thrown) {
    if (!isFileProblem(thrown)) throw thrown;
    throw new SimfleetError("RESULTS_NOT_WRITABLE", `${path} could not be written: ${messageOf(thrown)}. ${fix}`, {
      cause: thrown,
    });
  }
}

/**
 * Rejects a path that `writeResults` could not write to, before the work whose results they are.
 * @param input the file that is read, which must not be overwritten
 * @throws SimfleetError RESULTS_NOT_WRITABLE, USAGE
 */
export async function assertCanWrite(path: string | undefined, input?: string): Promise<void> {
  if (path === undefined) return;
  assertFileName(path);
  if (input !== undefined && resolve(path) === resolve(input))
    throw new SimfleetError(
      "USAGE",
      `--out would overwrite the input ${input}. Nothing was started; choose another file`,
    );
  try {
    const present = await stat(path).catch(() => undefined);
    if (present?.isDirectory() === true) throw new FileRefusedError("it is a folder");
    // A file is replaced by a new one in its folder; a pipe or a device is written in place.
    if (present === undefined || present.isFile()) await access(dirname(path), constants.W_OK | constants.X_OK);
    else await access(path, constants.W_OK);
  } catch (thrown) {
    if (!isFileProblem(thrown)) throw thrown;
    const message = `The results cannot be written to ${path}: ${messageOf(thrown)}. Nothing was started; choose another path with --out`;
    throw new SimfleetError("RESULTS_NOT_WRITABLE", message, { cause: thrown });
  }
}

async function refuseForeignLink(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSymbolicLink() !== true || isOurs(found.uid)) return;
  throw new FileRefusedError(`it is a symbolic link of another user (ID ${found.uid})`);
}

function isFileProblem(thrown: unknown): boolean {
  if (thrown instanceof FileRefusedError) return true;
  return thrown instanceof Error && "syscall" in thrown && "errno" in thrown && !("command" in thrown);
}

/** Looks up the status of earlier rows for their duplicates; keeps the last few segments. */
function earlierRows(run: RunRecord, ledger: Ledger): (index: number) => Promise<RowStatus> {
  const recent = new Map<number, SegmentState>();
  return async (index) => {
    const segment = segmentOf(run, index);
    const state = recent.get(segment) ?? (await ledger.segment(run, segment));
    if (recent.size >= 8 && !recent.has(segment)) recent.delete(recent.keys().next().value ?? 0);
    recent.set(segment, state);
    return statusOf(state, index - (run.segments[segment]?.firstRow ?? 0));
  };
}
