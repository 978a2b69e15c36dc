/**
 * Stores uploaded files while they are read, in a private folder of the data directory. An upload is written directly
 * to disk, so its size costs no memory. It is encrypted if a seal key is configured: a column may hold secrets. An upload
 * that is too large or stalls is refused at once, and its file is removed.
 */
import { createHash, createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { mkdir, readdir, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Transform, type TransformCallback } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type InputFile, openFile } from "#core/files/open-file.ts";
import { type Clock, minuteMs } from "#core/time.ts";
import { ensurePrivateFolder, openNewFile } from "#core/files/write-file.ts";
import { SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import type { Seal } from "#engine/seal.ts";

export interface SpooledFile {
  readonly bytes: number;
  /** Of what was handed over, hex. */
  readonly sha256: string;
}

/** An upload is given up when no data arrives for this long. */
const stallMs = 30_000;
/** Files that a process has left behind are older than any plan. */
const staleMs = 120 * minuteMs;

export class Spool {
  readonly #folder: string;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #seal: Seal | undefined;

  /** @param options `seal` encrypts files; undefined if no key is configured */
  constructor(options: { dataDir: string; maxBytes: number; clock: Clock; seal: Seal | undefined }) {
    this.#folder = join(options.dataDir, "spool");
    this.#maxBytes = options.maxBytes;
    this.#clock = options.clock;
    this.#seal = options.seal;
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  /**
   * Writes a stream to a file of this name.
   * @param onBytes is called with the bytes received so far, and throws if they are too many
   * @throws SimfleetError TOO_LARGE, REQUEST_TIMEOUT, STORE_FULL, what `onBytes` throws; the file is removed then
   */
  async take(
    source: NodeJS.ReadableStream,
    name: string,
    onBytes: (bytes: number) => void = () => undefined,
  ): Promise<SpooledFile> {
    await this.open();
    const path = this.path(name);
    const meter = new Meter(this.#maxBytes, onBytes);
    const stalled = new AbortController();
    const watch = this.#watchOver(meter, stalled);
    try {
      const file = await openNewFile(path, 0o600);
      const { signal } = stalled;
      const seal = this.#seal;
      if (seal === undefined) await pipeline(source, meter, file.createWriteStream(), { signal });
      else await pipeline(source, meter, (clear) => encrypted(clear, seal), file.createWriteStream(), { signal });
      return { bytes: meter.bytes, sha256: meter.digest() };
    } catch (thrown) {
      await rm(path, { force: true });
      if (stalled.signal.aborted) throw stalled.signal.reason;
      throw isDiskFull(thrown) ? this.#outOfRoom(thrown) : thrown;
    } finally {
      watch.abort();
    }
  }

  #outOfRoom(cause: unknown): SimfleetError {
    const message = `The disk of ${this.#folder} is full: free some space, then send the file again`;
    return new SimfleetError("STORE_FULL", message, { cause });
  }

  /** Whether files that are taken from now on are encrypted. */
  get encrypts(): boolean {
    return this.#seal !== undefined;
  }

  /**
   * A stored file, to be read as it was uploaded.
   * @param isEncrypted whether it was encrypted when it was taken
   */
  inputFile(path: string, isEncrypted: boolean = this.encrypts): InputFile {
    const rules = { links: "refuse" } as const;
    return isEncrypted ? { path, read: () => this.#decrypted(path) } : { path, rules };
  }

  #decrypted(path: string): AsyncIterable<Uint8Array> {
    if (this.#seal !== undefined) return decrypted(path, this.#seal);
    const message = "The uploaded file is encrypted, and no key is configured to decrypt it: configure seal.keyFile";
    throw new SimfleetError("SEAL_DECRYPTION_FAILED", message);
  }

  /** Makes the folder. @throws FileRefusedError where others could reach into it */
  async open(): Promise<void> {
    await mkdir(dirname(this.#folder), { recursive: true, mode: 0o700 });
    await ensurePrivateFolder(this.#folder, "close");
  }

  async remove(path: string): Promise<void> {
    await rm(path, { force: true });
  }

  /** Removes what earlier processes left behind. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const path = this.path(name);
      const facts = await stat(path).catch(() => undefined);
      if (facts !== undefined && this.#clock.wallMs() - facts.mtimeMs > staleMs) await this.remove(path);
    }
  }

  #watchOver(meter: Meter, stalled: AbortController): AbortController {
    const watch = new AbortController();
    const poll = async (): Promise<void> => {
      for (let before = -1; meter.bytes !== before;) {
        before = meter.bytes;
        await this.#clock.sleep(stallMs, watch.signal);
      }
      stalled.abort(
        new SimfleetError("REQUEST_TIMEOUT", `No data was received for ${stallMs / 1_000} s: send the file again`),
      );
    };
    poll().catch(() => undefined); // the end of the file ends the watch
    return watch;
  }
}

function isDiskFull(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && (thrown.code === "ENOSPC" || thrown.code === "EDQUOT");
}

/** Counts and digests what passes, up to a bound. */
class Meter extends Transform {
  bytes = 0;
  readonly #hash = createHash("sha256");
  readonly #max: number;

  readonly #onBytes: (bytes: number) => void;

  constructor(max: number, onBytes: (bytes: number) => void) {
    super();
    this.#max = max;
    this.#onBytes = onBytes;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.bytes += chunk.length;
    if (this.bytes > this.#max) {
      const message = `The file is larger than ${this.#max} bytes (http.uploadBytes): split it`;
      done(new SimfleetError("TOO_LARGE", message));
      return;
    }
    try {
      this.#onBytes(this.bytes);
    } catch (thrown) {
      done(thrown as Error);
      return;
    }
    this.#hash.update(chunk);
    done(null, chunk);
  }

  digest(): string {
    return this.#hash.digest("hex");
  }
}

// Encrypts a file that may contain secrets while it is on disk. A random key is sealed for this file and stored as its
// first line; the ciphertext (AES-256-GCM) and its tag of 16 bytes follow. The file is written and read as a stream.

const purpose = "an uploaded file";
const algorithm = "aes-256-gcm";
/** The same for all files: a key encrypts a single one. */
const nonce = Buffer.alloc(12);
const tagBytes = 16;
/** A sealed key has about 250 bytes. */
const maxKeyBytes = 1_024;

/** Yields the file that encrypts what the source contains. */
async function* encrypted(source: AsyncIterable<Buffer>, seal: Seal): AsyncGenerator<Buffer> {
  const key = randomBytes(32);
  const secret = new Secret(key.toString("base64url"));
  try {
    yield Buffer.from(`${await seal.seal(purpose, { key: secret })}\n`);
  } finally {
    secret.forget();
  }
  const cipher = createCipheriv(algorithm, key, nonce);
  for await (const chunk of source) yield cipher.update(chunk);
  yield cipher.final();
  yield cipher.getAuthTag();
}

/**
 * Yields what an encrypted file contains.
 * @throws SimfleetError SEAL_DECRYPTION_FAILED; at the end if the content was altered
 */
async function* decrypted(path: string, seal: Seal): AsyncGenerator<Buffer> {
  const file = await openFile(path, { links: "refuse" });
  try {
    const { size } = await file.stat();
    const head = await readAt(file, 0, Math.min(size, maxKeyBytes));
    const start = head.indexOf(10) + 1;
    const key = await keyIn(head.toString("latin1", 0, Math.max(0, start - 1)), seal);
    const end = Math.max(start, size - tagBytes);
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    const tag = await readAt(file, end, tagBytes);
    if (tag.length < tagBytes) throw altered();
    decipher.setAuthTag(tag);
    if (end > start) {
      for await (const chunk of file.createReadStream({ start, end: end - 1, autoClose: false })) {
        yield decipher.update(chunk as Buffer);
      }
    }
    try {
      decipher.final();
    } catch {
      throw altered();
    }
  } finally {
    await file.close();
  }
}

function altered(): SimfleetError {
  return new SimfleetError("SEAL_DECRYPTION_FAILED", "The uploaded file was altered on disk: send it again");
}

async function keyIn(sealed: string, seal: Seal): Promise<Buffer> {
  const { key } = await seal.open(purpose, sealed);
  const bytes = Buffer.from(key?.reveal() ?? "", "base64url");
  key?.forget();
  return bytes;
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
