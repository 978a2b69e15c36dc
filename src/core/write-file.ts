/**
 * Writes files in folders where other users may write as well. A file is written under a name that nobody can foresee,
 * opened so that it must be new and no link is followed, and renamed into its place: readers see the old content or the
 * new one, never a part, and what was written survives a power cut. Other modules do not write by themselves
 * (.oxlintrc.json).
 */
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, chmod, lstat, mkdir, open, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FileRefusedError, isOurs, ownId } from "./open-file.ts";

type Content = string | AsyncIterable<string>;

const chunkLength = 64 * 1024;

export interface WriteRules {
  /** Of the new file; the process's umask is taken off unless it is 0o600. */
  readonly mode: number;
  /** Path that the name of the unfinished file begins with; by default one beside the file. */
  readonly draft?: string;
}

/**
 * Writes a file whole or not at all, in place of what has that name; a link of that name is replaced, not followed.
 * @throws the error of the file system, or of the content; the unfinished file is removed then
 */
export async function replaceFile(path: string, content: Content, { mode, draft }: WriteRules): Promise<void> {
  const unfinished = `${draft ?? join(dirname(path), ".simfleet.")}${randomBytes(12).toString("hex")}.tmp`;
  try {
    await writeNew(unfinished, content, mode);
    await rename(unfinished, path);
  } catch (thrown) {
    await unlink(unfinished).catch(() => undefined);
    throw thrown;
  }
  await syncFolder(dirname(path));
}

/**
 * Writes a file that is not there yet.
 * @throws the error of the file system, EEXIST where something has that name
 */
export async function createFile(path: string, content: Content, { mode }: Pick<WriteRules, "mode">): Promise<void> {
  await writeNew(path, content, mode);
}

/** Opens a new file for writing, which the caller closes. @throws EEXIST where something has that name, also a link */
export function openNewFile(path: string, mode: number): Promise<FileHandle> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
}

/**
 * Writes into what is there and is no regular file: a pipe, a terminal or a device.
 * @throws FileRefusedError where it is a regular file by now
 */
export async function writeInto(path: string, content: Content): Promise<void> {
  const handle = await open(path, constants.O_WRONLY | constants.O_NOCTTY);
  try {
    if ((await handle.stat()).isFile()) {
      throw new FileRefusedError("special", path, `${path} was replaced by a regular file while it was opened.`);
    }
    await writeAll(handle, content);
  } finally {
    await handle.close();
  }
}

/**
 * Makes a folder that only this user may enter, or makes sure that the one there is such a folder.
 * @param whenOpen what is done with one that others may enter: `close` it for them, where they can do no harm before
 * @throws FileRefusedError where it is a link, belongs to somebody else, or is open to others and to be refused
 */
export async function ensurePrivateFolder(path: string, whenOpen: "refuse" | "close" = "refuse"): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((thrown: unknown) => {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
  });
  const { uid, mode } = await checkFolder(path);
  if (uid !== (ownId() ?? uid)) {
    throw new FileRefusedError("owner", path, `The folder ${path} belongs to another user (id ${uid}).`);
  }
  if ((mode & 0o077) !== 0 && whenOpen === "close") await chmod(path, 0o700);
  else if ((mode & 0o077) !== 0) {
    const message = `The folder ${path} is open to others. Mend it with: chmod 700 ${path}`;
    throw new FileRefusedError("mode", path, message);
  }
}

/** @throws FileRefusedError where a path is a link, no folder, or a folder of a user other than this one and root */
export async function checkFolder(path: string): Promise<Stats> {
  const stats = await lstat(path);
  if (stats.isSymbolicLink()) {
    throw new FileRefusedError("link", path, `${path} is a symbolic link; it has to be a folder.`);
  }
  if (!stats.isDirectory()) throw new FileRefusedError("special", path, `${path} is not a folder.`);
  if (!isOurs(stats.uid)) {
    throw new FileRefusedError("owner", path, `The folder ${path} belongs to another user (id ${stats.uid}).`);
  }
  return stats;
}

/**
 * Holds a folder open, so that it can be reached even when its name leads elsewhere by then; the caller closes it.
 * @throws FileRefusedError as `checkFolder`, and where it was exchanged meanwhile
 */
export async function holdFolder(path: string): Promise<FileHandle> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const checked = await checkFolder(path);
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const { ino, dev } = await handle.stat();
  if (ino === checked.ino && dev === checked.dev) return handle;
  await handle.close();
  throw new FileRefusedError("link", path, `${path} was exchanged while it was opened.`);
}

async function writeNew(path: string, content: Content, mode: number): Promise<void> {
  const handle = await openNewFile(path, mode);
  try {
    if (mode === 0o600) await handle.chmod(mode);
    await writeAll(handle, content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeAll(handle: FileHandle, content: Content): Promise<void> {
  await handle.writeFile(typeof content === "string" ? content : inChunks(content));
}

/** Lines in pieces of some size, since each piece is a call to the system. */
async function* inChunks(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = "";
  for await (const line of lines) {
    chunk += line;
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}

/** A rename is on the disk when its folder is; not every file system can say so. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync().catch((thrown: unknown) => {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code !== "EINVAL" && code !== "ENOTSUP") throw thrown;
    });
  } finally {
    await folder.close();
  }
}
