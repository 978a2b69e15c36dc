/** Writes files to paths that users choose for results. */
import { access, constants, lstat, realpath, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { SimfleetError, messageOf } from "../errors.ts";
import { FileRefusedError, isOurs } from "./open-file.ts";
import { replaceFile, writeInto } from "./write-file.ts";

/** @throws SimfleetError USAGE for `-`, which would become a file of that name */
function assertFileName(path: string): void {
  if (path === "-")
    throw new SimfleetError("USAGE", "--out takes the name of a file; simfleet runs results RUN prints");
}

/**
 * Writes a file atomically. Anything but a regular file, such as a pipe or /dev/stdout, is written in place, since a
 * rename would replace it with a file. A link is followed if it belongs to this user or root, and rejected otherwise.
 * @param fix what to suggest if the file cannot be written: a sentence without its full stop
 * @throws SimfleetError RESULTS_NOT_WRITABLE
 */
export async function writeResults(path: string, lines: AsyncIterable<string>, fix: string): Promise<void> {
  assertFileName(path);
  try {
    const present = await stat(path).catch(() => undefined);
    await refuseForeignLink(path);
    if (present === undefined) await replaceFile(path, lines, { mode: 0o666 });
    else if (present.isFile()) await replaceFile(await realpath(path), lines, { mode: 0o666 });
    else await writeInto(path, lines);
  } catch (thrown) {
    if (!isFileProblem(thrown)) throw thrown;
    throw new SimfleetError("RESULTS_NOT_WRITABLE", `${path} could not be written: ${messageOf(thrown)}. ${fix}`, {
      cause: thrown,
    });
  }
}

/**
 * Rejects a path that `writeResults` could not write to, before the work whose results they are.
 * @param input the file that is read, which must not be overwritten
 * @throws SimfleetError RESULTS_NOT_WRITABLE, USAGE
 */
export async function assertCanWrite(path: string | undefined, input?: string): Promise<void> {
  if (path === undefined) return;
  assertFileName(path);
  if (input !== undefined && resolve(path) === resolve(input))
    throw new SimfleetError(
      "USAGE",
      `--out would overwrite the input ${input}. Nothing was started; choose another file`,
    );
  try {
    const present = await stat(path).catch(() => undefined);
    if (present?.isDirectory() === true) throw new FileRefusedError("it is a folder");
    // A file is replaced by a new one in its folder; a pipe or a device is written in place.
    if (present === undefined || present.isFile()) await access(dirname(path), constants.W_OK | constants.X_OK);
    else await access(path, constants.W_OK);
  } catch (thrown) {
    if (!isFileProblem(thrown)) throw thrown;
    const message = `The results cannot be written to ${path}: ${messageOf(thrown)}. Nothing was started; choose another path with --out`;
    throw new SimfleetError("RESULTS_NOT_WRITABLE", message, { cause: thrown });
  }
}

async function refuseForeignLink(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSymbolicLink() !== true || isOurs(found.uid)) return;
  throw new FileRefusedError(`it is a symbolic link of another user (ID ${found.uid})`);
}

function isFileProblem(thrown: unknown): boolean {
  if (thrown instanceof FileRefusedError) return true;
  return thrown instanceof Error && "syscall" in thrown && "errno" in thrown && !("command" in thrown);
}
