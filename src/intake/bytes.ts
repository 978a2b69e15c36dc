/**
 * The bytes of an input file, checked before anything parses them: a size limit, strict UTF-8, no NUL, no disguised
 * workbook or archive. Valid content is passed on as whole lines in small chunks, so that memory stays constant for any
 * file, and is counted and hashed on the way.
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
    /** Whole lines; one of more bytes than this is passed on in parts, unchecked, for its reader to refuse. */
    lines: (maxLineBytes: number) => wholeLines(read(), maxLineBytes, signal),

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
 * Yields whole lines without a byte order mark, in chunks of about 16 KiB.
 * @throws IntakeError for what is no text in UTF-8; the signal's reason
 */
async function* wholeLines(
  pieces: AsyncGenerator<Buffer>,
  maxLineBytes: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  let isStart = true;
  let line = 1;
  let count = 0;
  /** The text up to a line's end. */
  const take = (end: number): Buffer => {
    if (isStart) refuseSignature(rest);
    const text = rest.subarray(isStart ? lengthOfMark(rest) : 0, end);
    rest = rest.subarray(end);
    isStart = false;
    const breaks = breaksIn(text);
    // A part of a line may end within a character.
    if (breaks > 0 || end <= maxLineBytes || text.includes(0)) check(text, line);
    line += breaks;
    return text;
  };
  for await (const piece of pieces) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    if (isStart && rest.length < 4) continue;
    // The last byte may be the first of a CRLF.
    const lineEnd = Math.max(rest.lastIndexOf(10), rest.lastIndexOf(13, -2)) + 1;
    if (lineEnd > 0) yield take(lineEnd);
    if (rest.length > maxLineBytes) yield take(rest.length);
    signal?.throwIfAborted();
    count += 1;
    if (count % piecesPerTurn === 0) await yieldToEventLoop();
  }
  const last = take(rest.length);
  if (last.length > 0) yield last;
}

async function openStream(input: InputFile | Readable): Promise<Readable> {
  if (input instanceof Readable) return input;
  const { path, rules = { links: "follow" }, read } = input;
  if (read !== undefined) return Readable.from(read(), { objectMode: false });
  const handle = await openFile(path, rules);
  return handle.createReadStream({ highWaterMark: pieceBytes });
}

/** @throws IntakeError with the line, for what is no text */
function check(text: Buffer, firstLine: number): void {
  const nul = text.indexOf(0);
  if (nul === -1 && isUtf8(text)) return;
  const lines = text.toString("latin1").split(/\r\n|\r|\n/);
  const at =
    nul === -1 ? lines.findIndex((one) => !isUtf8(Buffer.from(one, "latin1"))) : breaksIn(text.subarray(0, nul));
  const what =
    nul === -1
      ? "is not valid UTF-8. Open the file in its program and save as UTF-8 CSV."
      : "contains a NUL byte: this is a binary file or UTF-16, not CSV text. Save as UTF-8 CSV.";
  const line = firstLine + at;
  throw new IntakeError(`Line ${line} ${what}`, { line });
}

/** Counts LF, CRLF and lone CR as one break each. */
function breaksIn(text: Buffer): number {
  let breaks = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (text[i] === 13 || (text[i] === 10 && text[i - 1] !== 13)) breaks += 1;
  }
  return breaks;
}

function refuseSignature(start: Buffer): void {
  const known = signatures.find(({ begins }) => begins.every((byte, i) => start[i] === byte));
  if (known) throw new IntakeError(known.message);
}

function lengthOfMark(start: Buffer): number {
  return start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf ? 3 : 0;
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
