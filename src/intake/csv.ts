/**
 * A streaming CSV reader: header first, then rows in batches with the line on which each starts. Memory is constant:
 * one chunk of the file, its rows, and at most one incomplete record. A file that violates the grammar or a limit is an
 * IntakeError; a row with too few or too many cells is passed on for its reader to validate.
 */
import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { type CsvError, type Parser, parse } from "csv-parse";
import { IntakeError, messageOf } from "#core/errors.ts";
import type { InputFile } from "#core/files/open-file.ts";
import { inputBytes, recordTooLong } from "./bytes.ts";

/** Limits on a file; a file is rejected as soon as it exceeds one. */
const defaultCaps = {
  bytes: 2 ** 30,
  /** Rows below the header, blank ones included. */
  rows: 2_000_000,
  columns: 200,
  /** Size of one record in bytes, including its line breaks and quotes. */
  recordBytes: 64 * 1024,
};

export type CsvCaps = Readonly<typeof defaultCaps>;

export interface CsvRow {
  /** Line on which the row starts, counted from 1. */
  readonly line: number;
  readonly cells: readonly string[];
}

/**
 * Opens a file and reads its header.
 * @param source a path, a file, or a stream of bytes
 * @param signal ends the reading when it aborts
 * @throws IntakeError with the line, for a file that is not CSV in UTF-8; the signal's reason
 */
export async function openCsv(
  source: string | InputFile | Readable,
  caps: Partial<CsvCaps> = {},
  signal?: AbortSignal,
) {
  const limits = { ...defaultCaps, ...caps };
  const bytes = inputBytes(source, limits, signal);
  try {
    const lines = bytes.lines();
    const begun = await readStart(lines, limits.recordBytes);
    // Excel's first line that names the delimiter.
    const [line, named] = /^sep=([,;\t])(?:\r?\n|\r)/i.exec(begun.start.toString("latin1", 0, 8)) ?? [""];
    const delimiter = (named as Delimiter | undefined) ?? begun.delimiter;
    const texts = withoutFormulas(begun.start.subarray(line.length), lines);
    const records = parseRecords(texts, { delimiter, line: named === undefined ? 1 : 2 }, limits);
    const first = await records.next();
    const header = first.done ? undefined : first.value.shift();
    if (first.done || !header) throw new IntakeError("The file has only blank lines.");
    if (header.cells.length > limits.columns) {
      throw new IntakeError(`The header has ${header.cells.length} columns; at most ${limits.columns} are allowed.`, {
        line: header.line,
      });
    }
    return {
      /** Unmodified names; at least one is not blank. */
      header: header.cells,
      delimiter,
      /** The rows below the header, readable once, in batches of a few hundred; completely blank rows are omitted. */
      batches: streamRows(first.value, records, bytes),
      /** Count and digest of the input's bytes; valid once `batches` has ended. */
      fingerprint: bytes.fingerprint,
      /** Releases the file; not needed if `batches` was read to its end, left early or threw. */
      close: bytes.close,
    };
  } catch (thrown) {
    bytes.close();
    throw thrown;
  }
}

/** Reads until the header line is complete, since the delimiter must be known before anything is parsed. */
async function readStart(
  lines: AsyncGenerator<Buffer>,
  recordBytes: number,
): Promise<{ start: Buffer; delimiter: Delimiter }> {
  let start = Buffer.alloc(0);
  for (;;) {
    const next = await lines.next();
    if (!next.done) start = Buffer.concat([start, next.value]);
    const { delimiter, isWhole } = findDelimiter(start);
    if (next.done && start.length === 0) throw new IntakeError("The file is empty.");
    if (isWhole || next.done) return { start, delimiter };
    if (start.length > recordBytes) throw recordTooLong(1, recordBytes);
  }
}

/** A cell as Excel writes the formula of a text: `="8942…"` */
const formula = /(^|[,;\t\r\n])="([^",;\t\r\n]+)"(?=[,;\t\r\n]|$)/g;

/** Replaces formulas of a text by the text, which keeps long numbers from being rounded. */
async function* withoutFormulas(start: Buffer, others: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield unwrapFormulas(start);
  for await (const lines of others) yield unwrapFormulas(lines);
}

function unwrapFormulas(lines: Buffer): Buffer {
  return lines.includes('="') ? Buffer.from(lines.toString("latin1").replaceAll(formula, "$1$2"), "latin1") : lines;
}

async function* streamRows(
  first: readonly CsvRow[],
  records: AsyncGenerator<CsvRow[]>,
  bytes: ReturnType<typeof inputBytes>,
): AsyncGenerator<readonly CsvRow[]> {
  try {
    if (first.length > 0) yield first;
    yield* records;
  } finally {
    bytes.close();
  }
}

async function* parseRecords(
  pieces: AsyncGenerator<Buffer>,
  { delimiter, line: firstLine }: { readonly delimiter: Delimiter; readonly line: number },
  caps: CsvCaps,
): AsyncGenerator<CsvRow[]> {
  let batch: CsvRow[] = [];
  /** Line on which the next record starts. */
  let nextLine = firstLine;
  let [rows, fedBytes, recordEnd, parserLine] = [-1, 0, 0, 0];
  const parser = parse({
    delimiter,
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    on_record: (cells: string[], at) => {
      // Each record sets the expected length again: the parser makes an error for each of another length, which takes
      // ten times as long as the record. A reader of the rows checks the length.
      (parser.info as { records: number }).records = 0;
      const line = nextLine;
      if (at.bytes - recordEnd > caps.recordBytes) throw recordTooLong(line, caps.recordBytes);
      recordEnd = at.bytes;
      // The parser counts a CRLF inside quotes twice, so its count is only trusted if it advanced by one.
      nextLine += at.lines - parserLine === 1 ? 1 : 1 + breaksIn(cells);
      parserLine = at.lines;
      rows += 1;
      if (rows > caps.rows) {
        throw new IntakeError(`The file has more than ${caps.rows} rows, blank ones included. Split it.`, { line });
      }
      if (!isBlank(cells)) batch.push({ line, cells });
      return null;
    },
  });
  parser.on("error", () => {});
  const taken = (): CsvRow[] => {
    const full = batch;
    batch = [];
    return full;
  };
  try {
    for await (const piece of pieces) {
      await write(parser, piece);
      fedBytes += piece.length;
      // A record that does not end must not be buffered forever.
      if (fedBytes - recordEnd > caps.recordBytes + 2) throw recordTooLong(nextLine, caps.recordBytes);
      if (batch.length > 0) yield taken();
    }
    await end(parser);
    if (batch.length > 0) yield taken();
  } catch (thrown) {
    throw grammarError(thrown, nextLine);
  } finally {
    parser.destroy();
    await pieces.return(undefined);
  }
}

function isBlank(cells: readonly string[]): boolean {
  for (const cell of cells) {
    if (cell !== "" && cell.trim() !== "") return false;
  }
  return true;
}

function breaksIn(cells: readonly string[]): number {
  return cells.reduce((breaks, cell) => breaks + (cell.match(/\r\n|\r|\n/g)?.length ?? 0), 0);
}

function write(parser: Parser, piece: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    parser.write(piece, (fault) => (fault ? reject(fault) : resolve()));
  });
}

function end(parser: Parser): Promise<void> {
  parser.end();
  return finished(parser.resume());
}

function grammarError(thrown: unknown, line: number): unknown {
  if (thrown instanceof IntakeError) return thrown;
  const messages: Record<string, string> = {
    CSV_QUOTE_NOT_CLOSED: `A quote that opens in the row on line ${line} is never closed.`,
    CSV_INVALID_CLOSING_QUOTE: `In the row on line ${line}, text follows a closing quote. A quote inside a quoted cell is written twice.`,
    INVALID_OPENING_QUOTE: `In the row on line ${line}, there is a quote inside an unquoted cell. Put the whole cell in quotes and write the quote inside twice`,
  };
  const message = messages[(thrown as CsvError).code ?? ""];
  if (message === undefined) return thrown instanceof Error ? thrown : new Error(messageOf(thrown));
  return new IntakeError(message, { line, cause: thrown });
}

// The delimiters that spreadsheets write, depending on their locale.

const delimiters = [",", ";", "\t"] as const;
type Delimiter = (typeof delimiters)[number];

/**
 * Detects the delimiter from the header line: the one that occurs most often outside quotes; the first if none occurs.
 * @returns `isWhole` is false if the header line does not end within `start`
 */
function findDelimiter(start: Buffer): { delimiter: Delimiter; isWhole: boolean } {
  const line = /^[\r\n]*((?:"[^"]*"?|[^"\r\n]+)*)([\r\n]?)/;
  const [, header = "", lineEnd] = line.exec(start.toString("latin1")) ?? [];
  const unquoted = header.replaceAll(/"[^"]*"?/g, "");
  const countParts = (mark: string): number => unquoted.split(mark).length;
  const [delimiter = ","] = delimiters.toSorted((one, other) => countParts(other) - countParts(one));
  return { delimiter, isWhole: lineEnd !== "" };
}
