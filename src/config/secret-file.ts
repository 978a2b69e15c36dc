import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { messageOf } from "#core/errors.ts";

const mostBytes = 64 * 1024;

/**
 * Reads a secret from a file that no one but its owner may read; one line break at its end is not part of it.
 * @returns the secret, or what is wrong with the file and how to mend it
 */
export function readSecretFile(path: string): { readonly secret: string } | { readonly fault: string } {
  let descriptor: number;
  try {
    descriptor = openSync(path, "r");
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === "ENOENT") return { fault: `There is no file ${path}.` };
    if (code === "EACCES") return { fault: `${path} may not be read by this user.` };
    return { fault: messageOf(thrown) };
  }
  try {
    const { mode, size } = fstatSync(descriptor);
    if ((mode & 0o170000) === 0o040000) return { fault: `${path} is a folder, not a file.` };
    if ((mode & 0o077) !== 0) {
      return { fault: `${path} can be read by others (mode ${octal(mode)}). Mend it with: chmod 600 ${path}` };
    }
    if (size > mostBytes) return { fault: `${path} is too large for a secret (${size} bytes).` };
    const secret = readFileSync(descriptor, "utf8").replace(/\r?\n$/, "");
    return secret === "" ? { fault: `${path} is empty.` } : { secret };
  } finally {
    closeSync(descriptor);
  }
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}
