/**
 * Reads an input file in two passes. The survey reads all of it and collects what no single row shows: counts,
 * duplicates and conflicts, the digest. The second pass yields the rows in order with everything known about each, and
 * throws if the file no longer matches the survey. Neither pass holds the rows in memory.
 */
import { IntakeError } from "#core/errors.ts";
import type { InputFile } from "#core/files/open-file.ts";
import type { Row, RowProblem, RowProblemCode } from "#fleet/run.ts";
import { subjectOf } from "#fleet/sim-operation/sim-operation.ts";
import type { Fingerprint } from "./bytes.ts";
import { type Columns, type RowRequest, matchColumns, readRow } from "./columns.ts";
import { type CsvCaps, openCsv } from "./csv.ts";
import { Duplicates } from "./duplicates.ts";

/** A row's problem and its location. */
export interface RowFault extends RowProblem {
  readonly index: number;
  readonly line: number;
}

/** The result of reading a whole file once. */
export interface FileSurvey {
  readonly file: InputFile;
  readonly request: RowRequest;
  readonly columns: Columns;
  readonly header: readonly string[];
  readonly counts: {
    readonly rows: number;
    readonly valid: number;
    readonly invalid: number;
    /** Valid rows that share the call of an earlier row. */
    readonly duplicates: number;
    /** Valid rows that make their own call. */
    readonly calls: number;
    readonly byProblem: Readonly<Partial<Record<RowProblemCode, number>>>;
  };
  /** The first problems, in file order. */
  readonly problems: readonly RowFault[];
  readonly fingerprint: Fingerprint;
  readonly caps: Partial<CsvCaps>;
  readonly duplicates: Duplicates;
}

export interface ResolvedRow {
  readonly row: Row;
  /** Index of the first row with the same SIM and values, whose call and outcome this row shares. */
  readonly duplicateOf?: number;
}

/**
 * Reads a whole file and validates every row.
 * @param options `problemLimit`: default 1000; `signal` ends the reading
 * @throws IntakeError for a file that cannot be processed at all; the signal's reason
 */
export async function surveyFile(
  file: InputFile,
  options: RowRequest & {
    readonly problemLimit?: number;
    readonly caps?: Partial<CsvCaps>;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<FileSurvey> {
  const caps = options.caps ?? {};
  const problemLimit = options.problemLimit ?? 1000;
  const csv = await openCsv(file, caps, options.signal);
  const { operation, set } = options;
  const duplicates = new Duplicates();
  const byProblem: Partial<Record<RowProblemCode, number>> = {};
  const faults: RowFault[] = [];
  try {
    const columns = matchColumns(csv.header, options);
    for await (const batch of csv.batches) {
      for (const csvRow of batch) {
        const { index, line, key, inputs, problem } = readRow(columns, duplicates.count, csvRow);
        if (problem === undefined) {
          duplicates.add(line, subjectOf(operation, key, inputs), inputs);
          continue;
        }
        duplicates.addInvalid(line);
        byProblem[problem.code] = (byProblem[problem.code] ?? 0) + 1;
        if (faults.length < problemLimit) faults.push({ index, line, ...problem });
      }
    }
    duplicates.seal();
    if (duplicates.count === 0) throw new IntakeError("The file has a header but no rows.");
    const { conflicts, shared } = addConflicts(columns, duplicates, faults, problemLimit);
    if (conflicts > 0) byProblem.conflict = conflicts;
    const rows = duplicates.count;
    const invalid = Object.values(byProblem).reduce((sum, count) => sum + count, 0);
    const valid = rows - invalid;
    return {
      file,
      request: { operation, set },
      columns,
      header: csv.header,
      counts: { rows, valid, invalid, duplicates: shared, calls: valid - shared, byProblem },
      problems: faults,
      fingerprint: csv.fingerprint(),
      caps,
      duplicates,
    };
  } finally {
    csv.close();
  }
}

/**
 * Reads a surveyed file again and yields its rows in batches, each with its problem or the row that it duplicates.
 * @throws IntakeError, at the end or earlier, if the file has changed since the survey: discard the rows read so far
 */
export async function* readRows(survey: FileSurvey): AsyncGenerator<readonly ResolvedRow[]> {
  const { columns, duplicates, counts, fingerprint } = survey;
  const csv = await openCsv(survey.file, survey.caps);
  try {
    let index = 0;
    for await (const batch of csv.batches) {
      if (index + batch.length > counts.rows) throw changed(survey.file.path);
      yield batch.map((csvRow) => resolve(columns, duplicates, readRow(columns, index++, csvRow)));
    }
    const now = csv.fingerprint();
    if (now.bytes !== fingerprint.bytes || now.sha256 !== fingerprint.sha256) throw changed(survey.file.path);
  } finally {
    csv.close();
  }
}

function resolve(columns: Columns, duplicates: Duplicates, row: Row): ResolvedRow {
  if (row.problem) return { row };
  if (duplicates.isConflict(row.index)) {
    return { row: { ...row, problem: conflict(columns, duplicates, row.index) } };
  }
  const duplicateOf = duplicates.duplicateOf(row.index);
  return duplicateOf === undefined ? { row } : { row, duplicateOf };
}

/**
 * Conflicts are known only at the end of the file: counts them, and merges the first ones into the problems found so
 * far.
 */
function addConflicts(
  columns: Columns,
  duplicates: Duplicates,
  faults: RowFault[],
  problemLimit: number,
): { conflicts: number; shared: number } {
  let conflicts = 0;
  let shared = 0;
  for (let index = 0; index < duplicates.count; index += 1) {
    if (!duplicates.isConflict(index)) {
      if (duplicates.duplicateOf(index) !== undefined) shared += 1;
      continue;
    }
    conflicts += 1;
    if (conflicts <= problemLimit) {
      faults.push({
        index,
        line: duplicates.lineOf(index),
        ...conflict(columns, duplicates, index),
      });
    }
  }
  faults.sort((a, b) => a.index - b.index);
  faults.splice(problemLimit);
  return { conflicts, shared };
}

const namedLines = 5;

function conflict(columns: Columns, duplicates: Duplicates, index: number): RowProblem {
  const lines = duplicates.linesOf(index, namedLines + 1);
  const named = lines.slice(0, namedLines).join(", ") + (lines.length > namedLines ? ", …" : "");
  return {
    code: "conflict",
    column:
      columns.inputs.map((source) => ("at" in source ? (columns.header[source.at] ?? "").trim() : "")).find(Boolean) ??
      "",
    message: `The same SIM is given different values on lines ${named}. Keep one of them.`,
  };
}

function changed(path: string): IntakeError {
  return new IntakeError(`The file ${path} has changed while it was read. Start again when nothing writes to it.`);
}
