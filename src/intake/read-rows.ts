/**
 * Reads an input file in one pass: yields its rows in batches as they come, each with its problem or the earlier row
 * that it duplicates. Only the end of the file shows the rest: which SIMs are given different values, and how many rows
 * share a call. The rows are never held in memory.
 */
import { IntakeError } from "#core/errors.ts";
import type { InputFile } from "#core/files/open-file.ts";
import type { Row, RowProblem } from "#fleet/run.ts";
import { subjectOf } from "#fleet/sim-operation/sim-operation.ts";
import { type Columns, type RowRequest, matchColumns, readRow } from "./columns.ts";
import { type CsvCaps, openCsv } from "./csv.ts";
import { Duplicates } from "./duplicates.ts";

/** Facts about rows that are known only at their end. */
export type LateRows = Awaited<ReturnType<typeof openRows>>["late"];

/**
 * Opens a file and reads its header.
 * @param options `signal` ends the reading
 * @throws IntakeError for a file that cannot be processed at all; the signal's reason
 */
export async function openRows(
  file: InputFile,
  options: RowRequest & { readonly caps?: Partial<CsvCaps>; readonly signal?: AbortSignal | undefined },
) {
  const csv = await openCsv(file, options.caps ?? {}, options.signal);
  const { operation } = options;
  const duplicates = new Duplicates();
  let columns: Columns;
  try {
    columns = matchColumns(csv.header, options);
  } catch (thrown) {
    csv.close();
    throw thrown;
  }
  async function* batches(): AsyncGenerator<readonly Row[]> {
    for await (const batch of csv.batches) {
      const rows = batch.map((csvRow, i) => readRow(columns, duplicates.count + i, csvRow));
      duplicates.add(rows, ({ key, inputs }) => subjectOf(operation, key, inputs));
      yield rows.map((row): Row => {
        const first = duplicates.firstOf(row.index);
        return first === row.index ? row : { ...row, duplicateOf: first };
      });
    }
    duplicates.seal();
    if (duplicates.count === 0) throw new IntakeError("The file has a header but no rows.");
  }
  return {
    header: csv.header,
    /** Readable once, in file order. @throws IntakeError for a file that cannot be processed at all */
    batches: batches(),
    /** Valid once `batches` has ended. */
    late: {
      /** Number of rows that share the outcome of the first row of a SIM, itself included; 1 for any other row. */
      weightOf: (index: number) => duplicates.weightOf(index),
      lineOf: (index: number) => duplicates.lineOf(index),
      /** Whether a row that seemed valid is not, as another row gives its SIM different values. */
      isConflict: (index: number) => duplicates.isConflict(index),
      conflictOf: (index: number) => conflict(columns, duplicates, index),
    },
    /** SHA-256 of the file, hex; valid once `batches` has ended. */
    sha256: () => csv.fingerprint().sha256,
    /** Closes the file, read or not. May be repeated. */
    close: csv.close,
  };
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
