/**
 * Opens files that other users or programs may change at any moment. The path is resolved once: the checks (kind,
 * owner, mode, size) and the reads use the same open file, so nothing can be swapped in between. Opening never blocks:
 * a named pipe or a device is rejected. Other modules do not open files directly (.oxlintrc.json).
 */
import { closeSync, constants, createReadStream, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { ReadStream as TerminalStream } from "node:tty";

const readChunkBytes = 64 * 1024;

export interface FileRules {
  /** Handling of a symbolic link at the end of the path. Links among its parent folders are always followed. */
  readonly links: "follow" | "refuse";
  /** Maximum size in bytes. Absent: any. */
  readonly maxBytes?: number;
  /** `private`: the file belongs to this user or root, and no other user may read or change it. */
  readonly access?: "private";
  /** Refuse a file that has a second name (a hard link), which may be in another user's folder. */
  readonly isOneName?: boolean;
}

/** A file to read, once or repeatedly. */
export interface InputFile {
  readonly path: string;
  /** By default the path may end in a link. */
  readonly rules?: FileRules | undefined;
  /** Reads the content of a file that is stored in another form. */
  readonly read?: (() => AsyncIterable<Uint8Array>) | undefined;
}

/** Why a file was not opened; file system errors are passed through unchanged. */
export class FileRefusedError extends Error {
  override readonly name = "FileRefusedError";
}

/**
 * Opens a regular file for reading; the caller closes it and reads only through the returned handle.
 * @throws FileRefusedError; the file system error
 */
export async function openFile(path: string, rules: FileRules): Promise<FileHandle> {
  const handle = await open(path, toFlags(rules)).catch((thrown: unknown) => {
    throw asRefusal(thrown, path);
  });
  try {
    check(path, await handle.stat(), rules);
    return handle;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/**
 * Reads a whole small regular file.
 * @returns its bytes, and owner and mode of the file that was read
 * @throws FileRefusedError, also if it grows past `maxBytes` while being read; the file system error
 */
export function readFileOnce(path: string, rules: FileRules & { readonly maxBytes: number }) {
  let descriptor: number;
  try {
    descriptor = openSync(path, toFlags(rules));
  } catch (thrown) {
    throw asRefusal(thrown, path);
  }
  try {
    const stats = fstatSync(descriptor);
    check(path, stats, rules);
    return { bytes: readToEnd(path, descriptor, rules.maxBytes), uid: stats.uid, mode: stats.mode };
  } finally {
    closeSync(descriptor);
  }
}

/** The bytes of a named pipe, which come once; undefined if the path is none. */
export async function pipeAt(path: string, signal: AbortSignal): Promise<(() => Readable) | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFIFO() === true ? () => createReadStream(path, { signal }) : undefined;
}

/** The terminal's input, for when standard input is something else. Undefined without a terminal. */
export function openTerminal(): TerminalStream | undefined {
  try {
    return new TerminalStream(openSync("/dev/tty", "r"));
  } catch {
    return undefined;
  }
}

function readToEnd(path: string, descriptor: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (;;) {
    const chunk = Buffer.alloc(readChunkBytes);
    const read = readSync(descriptor, chunk);
    if (read === 0) return Buffer.concat(chunks);
    bytes += read;
    if (bytes > maxBytes) throw tooLarge(path, bytes, maxBytes);
    chunks.push(chunk.subarray(0, read));
  }
}

function toFlags({ links }: FileRules): number {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW, O_NOCTTY } = constants;
  return O_RDONLY | O_NONBLOCK | O_NOCTTY | (links === "refuse" ? O_NOFOLLOW : 0);
}

function check(path: string, stats: Stats, { maxBytes, access, isOneName }: FileRules): void {
  if (stats.isDirectory()) throw new FileRefusedError(`${path} is a folder, not a file.`);
  if (!stats.isFile()) throw notRegular(path);
  if (isOneName === true && stats.nlink > 1) {
    throw new FileRefusedError(`${path} has a second name (a hard link).`);
  }
  if (access === "private" && !isOurs(stats.uid)) {
    const message = `${path} belongs to another user (ID ${stats.uid}), who can change it. Run simfleet as that user (sudo -u '#${stats.uid}' simfleet …), or name a copy of your own`;
    throw new FileRefusedError(message);
  }
  if (access === "private" && (stats.mode & 0o077) !== 0) {
    const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
    const message = `${path} can be read by others (mode ${mode}). Fix it with: chmod 600 ${path}`;
    throw new FileRefusedError(message);
  }
  if (maxBytes !== undefined && stats.size > maxBytes) throw tooLarge(path, stats.size, maxBytes);
}

/** Whether only this user and root can change a file or folder of this owner. */
export function isOurs(uid: number): boolean {
  return uid === 0 || uid === ownId() || ownId() === undefined;
}

/** Numeric user ID. Absent if the operating system has none. */
export function ownId(): number | undefined {
  return process.geteuid?.();
}

function tooLarge(path: string, bytes: number, maxBytes: number): FileRefusedError {
  return new FileRefusedError(`${path} is too large (${bytes} bytes; at most ${maxBytes}).`);
}

/** With O_NOFOLLOW a link is ELOOP; a socket is ENXIO. */
function asRefusal(thrown: unknown, path: string): unknown {
  const { code } = thrown as NodeJS.ErrnoException;
  if (code === "ELOOP") return new FileRefusedError(`${path} is a symbolic link, which is not followed.`);
  return code === "ENXIO" ? notRegular(path) : thrown;
}

function notRegular(path: string): FileRefusedError {
  return new FileRefusedError(`${path} is not a regular file, but a pipe, socket or device.`);
}
