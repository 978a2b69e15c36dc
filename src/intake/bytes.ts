/**
 * The bytes of an input file, checked before anything parses them: a size limit, strict UTF-8, no NUL, no disguised
 * workbook or archive. Valid content is passed on in small chunks, so that memory stays constant for any file, and is
 * counted and hashed on the way.
 */
import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { IntakeError, SimfleetError, messageOf } from "#core/errors.ts";
import { yieldToEventLoop } from "#core/time.ts";
import { FileRefusedError, type InputFile, openFile } from "#core/files/open-file.ts";

const pieceBytes = 16 * 1024;

/** File signatures that are not CSV, with their error messages. */
const signatures: readonly { readonly begins: readonly number[]; readonly message: string }[] = [
  { begins: [0x50, 0x4b, 0x03, 0x04], message: "This is an Excel workbook. Export it as CSV." },
  {
    begins: [0xd0, 0xcf, 0x11, 0xe0],
    message: "This is an old Excel workbook (.xls). Export it as CSV.",
  },
  { begins: [0x1f, 0x8b], message: "This file is compressed (gzip). Unpack it first." },
  { begins: [0xff, 0xfe], message: "This file is UTF-16, not UTF-8: save as UTF-8 CSV." },
  { begins: [0xfe, 0xff], message: "This file is UTF-16, not UTF-8: save as UTF-8 CSV." },
];

/** Pieces after which other work of the process gets its turn: about 20 ms of parsing. */
const piecesPerTurn = 16;

/**
 * Opens the bytes of a file.
 * @param source a path, a file, or a stream of bytes
 * @param signal ends the reading when it aborts
 */
export function inputBytes(source: string | InputFile | Readable, maxBytes: number, signal: AbortSignal | undefined) {
  const input = typeof source === "string" ? { path: source } : source;
  const hash = createHash("sha256");
  let stream: Readable | undefined;
  let isClosed = false;
  let bytes = 0;
  let sha256: string | undefined;

  async function* read(): AsyncGenerator<Buffer> {
    try {
      stream = await openStream(input);
      if (isClosed) stream.destroy();
      for await (const chunk of stream) {
        const received = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk as string | Uint8Array);
        for (let at = 0; at < received.length; at += pieceBytes) {
          const piece = received.subarray(at, at + pieceBytes);
          bytes += piece.length;
          if (bytes > maxBytes) throw new IntakeError(`The file is larger than ${maxBytes} bytes. Split it.`);
          hash.update(piece);
          yield piece;
        }
      }
    } catch (thrown) {
      const path = input instanceof Readable ? undefined : input.path;
      throw thrown instanceof SimfleetError ? thrown : unreadable(thrown, path);
    }
  }

  return {
    pieces: () => textPieces(read(), signal),

    /** Count and digest (hex) of the bytes as received; complete once `pieces` has ended. */
    fingerprint: () => {
      sha256 ??= hash.digest("hex");
      return { bytes, sha256 };
    },

    close: (): void => {
      isClosed = true;
      stream?.destroy();
    },
  };
}

/**
 * Yields the text's bytes without a byte order mark, in chunks of at most about 16 KiB that end between characters.
 * @throws IntakeError for what is no text in UTF-8; the signal's reason
 */
async function* textPieces(pieces: AsyncGenerator<Buffer>, signal: AbortSignal | undefined): AsyncGenerator<Buffer> {
  const check = textCheck();
  let rest: Buffer = Buffer.alloc(0);
  let atStart = true;
  const take = (joined: Buffer, end: number): Buffer => {
    if (atStart) refuseSignature(joined);
    const text = joined.subarray(atStart ? lengthOfMark(joined) : 0, end);
    rest = joined.subarray(end);
    atStart = false;
    check(text);
    signal?.throwIfAborted();
    return text;
  };
  let count = 0;
  for await (const piece of pieces) {
    const joined = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    if (atStart && joined.length < 4) {
      rest = joined;
      continue;
    }
    yield take(joined, endOfCharacters(joined));
    count += 1;
    if (count % piecesPerTurn === 0) await yieldToEventLoop();
  }
  const last = take(rest, rest.length);
  if (last.length > 0) yield last;
}

async function openStream(input: InputFile | Readable): Promise<Readable> {
  if (input instanceof Readable) return input;
  const { path, rules = { links: "follow" }, read } = input;
  if (read !== undefined) return Readable.from(read(), { objectMode: false });
  const handle = await openFile(path, rules);
  return handle.createReadStream({ highWaterMark: pieceBytes });
}

/** @returns a check of the pieces of a text, one after the other, which throws an IntakeError with the line */
function textCheck() {
  let line = 1;
  let endedInCarriageReturn = false;
  /** Counts LF, CRLF and lone CR as one break each, even if CR and LF are in different chunks. */
  const countBreaks = (text: Buffer): void => {
    for (let i = 0; i < text.length; i += 1) {
      const byte = text[i];
      if (byte === 13 || (byte === 10 && !endedInCarriageReturn)) line += 1;
      endedInCarriageReturn = byte === 13;
    }
  };
  return (text: Buffer): void => {
    const nul = text.indexOf(0);
    if (nul === -1 && isUtf8(text)) return countBreaks(text);
    countBreaks(text.subarray(0, nul === -1 ? lengthOfValidPart(text) : nul));
    const what =
      nul === -1
        ? "is not valid UTF-8. Open the file in its program and save as UTF-8 CSV."
        : "contains a NUL byte: this is a binary file or UTF-16, not CSV text. Save as UTF-8 CSV.";
    throw new IntakeError(`Line ${line} ${what}`, { line });
  };
}

function refuseSignature(start: Buffer): void {
  const known = signatures.find(({ begins }) => begins.every((byte, i) => start[i] === byte));
  if (known) throw new IntakeError(known.message);
}

function lengthOfMark(start: Buffer): number {
  return start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf ? 3 : 0;
}

/** The end of the last complete character: a chunk may split one of up to four bytes. */
function endOfCharacters(text: Buffer): number {
  for (let back = 1; back <= Math.min(3, text.length); back += 1) {
    const byte = text[text.length - back] ?? 0;
    if (byte >= 0xc0) {
      const wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return wanted > back ? text.length - back : text.length;
    }
    if (byte < 0x80) break;
  }
  return text.length;
}

function lengthOfValidPart(text: Buffer): number {
  let valid = 0;
  let invalid = text.length;
  while (valid + 1 < invalid) {
    const middle = (valid + invalid) >> 1;
    if (isUtf8(text.subarray(0, endOfCharacters(text.subarray(0, middle))))) valid = middle;
    else invalid = middle;
  }
  return valid;
}

function unreadable(thrown: unknown, path: string | undefined): IntakeError {
  if (thrown instanceof FileRefusedError) return new IntakeError(thrown.message, { cause: thrown });
  const { code } = thrown as NodeJS.ErrnoException;
  const name = path ?? "the file";
  const reasons: Record<string, string> = {
    ENOENT: `There is no file ${name}.`,
    EACCES: `${name} cannot be read by this user.`,
    EISDIR: `${path ?? "The input"} is a folder, not a file.`,
  };
  return new IntakeError(reasons[code ?? ""] ?? `The input could not be read: ${messageOf(thrown)}`, { cause: thrown });
}
