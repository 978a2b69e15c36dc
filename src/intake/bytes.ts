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
/** Bytes that are read from a file at once. Each read takes as long as parsing a kilobyte. */
const readBytes = 16 * pieceBytes;

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
export function inputBytes(
  source: string | InputFile | Readable,
  caps: { readonly bytes: number; readonly recordBytes: number },
  signal: AbortSignal | undefined,
) {
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
          if (bytes > caps.bytes) throw new IntakeError(`The file is larger than ${caps.bytes} bytes. Split it.`);
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
    lines: () => textLines(read(), { ...caps, signal }),

    /** Count and digest (hex) of the bytes as received; complete once `lines` has ended. */
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
 * Yields the text's bytes without a byte order mark: whole lines, about 16 KiB of them at once.
 * @throws IntakeError for what is no text in UTF-8, or a line that is longer than a record may be; the signal's reason
 */
async function* textLines(
  pieces: AsyncGenerator<Buffer>,
  { recordBytes, signal }: { readonly recordBytes: number; readonly signal: AbortSignal | undefined },
): AsyncGenerator<Buffer> {
  const text = textCheck();
  let rest: Buffer = Buffer.alloc(0);
  let atStart = true;
  let count = 0;
  for await (const piece of pieces) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    if (atStart && rest.length < 4) continue;
    if (atStart) rest = withoutMark(rest);
    atStart = false;
    const end = Math.max(rest.lastIndexOf(10), rest.lastIndexOf(13)) + 1;
    if (end === 0 && rest.length > recordBytes) {
      // Without the last character, of which a part may be missing.
      text.check(
        rest.subarray(
          0,
          rest.findLastIndex((byte) => (byte & 0xc0) !== 0x80),
        ),
      );
      throw recordTooLong(text.line(), recordBytes);
    }
    const lines = rest.subarray(0, end);
    rest = rest.subarray(end);
    text.check(lines);
    signal?.throwIfAborted();
    if (end > 0) yield lines;
    count += 1;
    if (count % piecesPerTurn === 0) await yieldToEventLoop();
  }
  if (atStart) rest = withoutMark(rest);
  text.check(rest);
  signal?.throwIfAborted();
  if (rest.length > 0) yield rest;
}

export function recordTooLong(line: number, recordBytes: number): IntakeError {
  return new IntakeError(
    `The row that starts on line ${line} is longer than ${recordBytes} bytes. A closing quote may be missing.`,
    { line },
  );
}

async function openStream(input: InputFile | Readable): Promise<Readable> {
  if (input instanceof Readable) return input;
  const { path, rules = { links: "follow" }, read } = input;
  if (read !== undefined) return Readable.from(read(), { objectMode: false });
  const handle = await openFile(path, rules);
  return handle.createReadStream({ highWaterMark: readBytes });
}

/** Checks the pieces of a text, one after the other. */
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
  return {
    /** Line on which the next piece starts. */
    line: () => line,
    /** @param text whole lines @throws IntakeError with the line */
    check: (text: Buffer): void => {
      const nul = text.indexOf(0);
      if (nul === -1 && isUtf8(text)) return countBreaks(text);
      countBreaks(text.subarray(0, nul === -1 ? lengthOfValidPart(text) : nul));
      const what =
        nul === -1
          ? "is not valid UTF-8. Open the file in its program and save as UTF-8 CSV."
          : "contains a NUL byte: this is a binary file or UTF-16, not CSV text. Save as UTF-8 CSV.";
      throw new IntakeError(`Line ${line} ${what}`, { line });
    },
  };
}

/** @throws IntakeError for the start of another kind of file */
function withoutMark(start: Buffer): Buffer {
  const known = signatures.find(({ begins }) => begins.every((byte, i) => start[i] === byte));
  if (known) throw new IntakeError(known.message);
  return start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf ? start.subarray(3) : start;
}

/** Decoding replaces what is not valid. */
function lengthOfValidPart(text: Buffer): number {
  const decoded = Buffer.from(text.toString());
  let valid = 0;
  while (valid < text.length && text[valid] === decoded[valid]) valid += 1;
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
