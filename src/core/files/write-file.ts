/**
 * Writes files in folders that other users may also write to. A file is created under an unpredictable name, opened so
 * that it must be new and no link is followed, and renamed into place: readers see the old content or the new one,
 * never a part, and written content survives a power failure. Other modules do not write files directly
 * (.oxlintrc.json).
 */
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, chmod, link, lstat, mkdir, open, readdir, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FileRefusedError, isOurs, ownId } from "./open-file.ts";
import { minuteMs, systemClock } from "../time.ts";

type Content = string | AsyncIterable<string | Buffer>;

const chunkLength = 64 * 1024;
/** A temporary file that nobody has written to for this long belongs to a process that was killed. */
const abandonedMs = 60 * minuteMs;
const temporaryName = /^\.simfleet\.[0-9a-f]{24}\.tmp$/;

export interface WriteRules {
  /** Mode of the new file; the process's umask applies unless it is 0o600. */
  readonly mode: number;
  /** Prefix of the temporary file's path; by default the temporary file is next to the target. */
  readonly draft?: string;
}

/**
 * Writes a whole file or nothing, replacing any file of that name; a link of that name is replaced, not followed.
 * @throws the error of the file system or of the content; the temporary file is then removed
 */
export async function replaceFile(path: string, content: Content, { mode, draft }: WriteRules): Promise<void> {
  const unfinished = `${draft ?? join(dirname(path), ".simfleet.")}${randomBytes(12).toString("hex")}.tmp`;
  if (draft === undefined) await removeAbandonedFiles(dirname(path));
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
 * Writes a file that does not exist yet: other processes see it with all of its content or not at all, except on file
 * systems without hard links.
 * @throws the file system error; EEXIST if the name is taken
 */
export async function createFile(path: string, content: string, { mode }: Pick<WriteRules, "mode">): Promise<void> {
  const unfinished = join(dirname(path), `.simfleet.${randomBytes(12).toString("hex")}.tmp`);
  try {
    await writeNew(unfinished, content, mode);
    await link(unfinished, path).catch((thrown: unknown) => {
      if ((thrown as NodeJS.ErrnoException).code === "EEXIST") throw thrown;
      return writeNew(path, content, mode);
    });
  } finally {
    await unlink(unfinished).catch(() => undefined);
  }
  await syncFolder(dirname(path));
}

/**
 * Removes the temporary files that killed processes have left in a folder an hour ago or earlier. Only regular files of
 * this user with a name of ours are removed; a link is neither followed nor removed.
 */
export async function removeAbandonedFiles(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((one) => temporaryName.test(one))) {
    const path = join(folder, name);
    const stats = await lstat(path).catch(() => undefined);
    if (stats?.isFile() !== true || stats.uid !== (ownId() ?? stats.uid)) continue;
    if (systemClock.wallMs() - stats.mtimeMs > abandonedMs) await unlink(path).catch(() => undefined);
  }
}

/**
 * Writes into an existing path that is not a regular file: a pipe, a terminal or a device.
 * @throws FileRefusedError if it has become a regular file
 */
export async function writeInto(path: string, content: Content): Promise<void> {
  const handle = await open(path, constants.O_WRONLY | constants.O_NOCTTY);
  try {
    if ((await handle.stat()).isFile()) {
      throw new FileRefusedError(`${path} was replaced by a regular file while it was opened.`);
    }
    await writeAll(handle, content);
  } finally {
    await handle.close();
  }
}

/**
 * Creates a folder that only this user may enter, or removes the access of others to the existing one, in which they
 * could not have done harm before.
 * @throws FileRefusedError if it is a link, or belongs to another user
 */
export async function ensurePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((thrown: unknown) => {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
  });
  const { uid, mode } = await checkFolder(path);
  if (uid !== (ownId() ?? uid)) {
    throw new FileRefusedError(`The folder ${path} belongs to another user (ID ${uid}).`);
  }
  if ((mode & 0o077) !== 0) await chmod(path, 0o700);
}

/** @throws FileRefusedError if a path is a link, is not a folder, or belongs to a user other than this one and root */
export async function checkFolder(path: string): Promise<Stats> {
  const stats = await lstat(path);
  if (stats.isSymbolicLink()) {
    throw new FileRefusedError(`${path} is a symbolic link; it must be a folder.`);
  }
  if (!stats.isDirectory()) throw new FileRefusedError(`${path} is not a folder.`);
  if (!isOurs(stats.uid)) {
    throw new FileRefusedError(`The folder ${path} belongs to another user (ID ${stats.uid}).`);
  }
  return stats;
}

/**
 * Keeps a folder open, so that it remains reachable even if its name leads to another place later; the caller closes
 * it.
 * @throws FileRefusedError as `checkFolder`, and if it was exchanged meanwhile
 */
export async function holdFolder(path: string): Promise<FileHandle> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const checked = await checkFolder(path);
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  const { ino, dev } = await handle.stat();
  if (ino === checked.ino && dev === checked.dev) return handle;
  await handle.close();
  throw new FileRefusedError(`${path} was exchanged while it was opened.`);
}

/** @throws EEXIST if the name is taken, even by a link */
async function writeNew(path: string, content: Content, mode: number): Promise<void> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
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

/** Combines lines into chunks, since each chunk is a system call. */
async function* inChunks(lines: AsyncIterable<string | Buffer>): AsyncGenerator<string | Buffer> {
  let chunk = "";
  for await (const line of lines) {
    if (typeof line !== "string") {
      yield line;
      continue;
    }
    chunk += line;
    if (chunk.length < chunkLength) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}

/** A rename is durable once its folder is synced; not every file system supports that. */
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
