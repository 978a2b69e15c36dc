import { messageOf } from "#core/errors.ts";
import { FileRefusedError, readFileOnce } from "#core/files/open-file.ts";

const maxBytes = 64 * 1024;

/**
 * Reads a secret from a file that belongs to this user or root and that no other user may read. One line break at its
 * end is removed. Symbolic links are followed, since mounted secrets use them: the rules apply to the final file.
 * @returns the secret, or the problem of the file and how to fix it
 */
export function readSecretFile(path: string): { readonly secret: string } | { readonly fault: string } {
  const read = readSecretBytes(path);
  if ("fault" in read) return read;
  const secret = read.bytes.toString("utf8").replace(/\r?\n$/, "");
  return secret === "" ? { fault: `${path} is empty.` } : { secret };
}

/** The same file as the bytes that it holds, for keys that are no text. */
export function readSecretBytes(path: string): { readonly bytes: Buffer } | { readonly fault: string } {
  try {
    return { bytes: readFileOnce(path, { links: "follow", access: "private", maxBytes }).bytes };
  } catch (thrown) {
    if (thrown instanceof FileRefusedError) {
      return { fault: thrown.kind === "size" ? `${path} is too large for a secret.` : thrown.message };
    }
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === "ENOENT") return { fault: `There is no file ${path}.` };
    if (code === "EACCES") return { fault: `${path} cannot be read by this user.` };
    return { fault: messageOf(thrown) };
  }
}
