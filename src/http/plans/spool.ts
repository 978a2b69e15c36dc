/**
 * Stores uploaded files while they are read, in a private folder of the data directory. An upload is written directly
 * to disk, so its size costs no memory. An upload that is too large or stalls is refused at once, and its file is
 * removed.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Transform, type TransformCallback } from "node:stream";
import { pipeline } from "node:stream/promises";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, minuteMs } from "#core/time.ts";
import { ensurePrivateFolder, openNewFile } from "#core/write-file.ts";

export interface SpooledFile {
  readonly path: string;
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
  readonly #mostBytes: number;
  readonly #clock: Clock;

  constructor(options: { dataDir: string; mostBytes: number; clock: Clock }) {
    this.#folder = join(options.dataDir, "spool");
    this.#mostBytes = options.mostBytes;
    this.#clock = options.clock;
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
    const meter = new Meter(this.#mostBytes, onBytes);
    const stalled = new AbortController();
    const watch = this.#watchOver(meter, stalled);
    try {
      const file = await openNewFile(path, 0o600);
      await pipeline(source, meter, file.createWriteStream(), { signal: stalled.signal });
      return { path, bytes: meter.bytes, sha256: meter.digest() };
    } catch (thrown) {
      await rm(path, { force: true });
      if (stalled.signal.aborted) throw stalled.signal.reason;
      throw isDiskFull(thrown) ? this.#outOfRoom(thrown) : thrown;
    } finally {
      watch.abort();
    }
  }

  #outOfRoom(cause: unknown): SimfleetError {
    const message = `The disk of ${this.#folder} is full: make room, then send the file again`;
    return new SimfleetError("STORE_FULL", message, { cause });
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
  readonly #most: number;

  readonly #onBytes: (bytes: number) => void;

  constructor(most: number, onBytes: (bytes: number) => void) {
    super();
    this.#most = most;
    this.#onBytes = onBytes;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.bytes += chunk.length;
    if (this.bytes > this.#most) {
      const message = `The file is larger than ${this.#most} bytes (http.uploadBytes): split it`;
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
