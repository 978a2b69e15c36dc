import { messageOf } from "#core/errors.ts";
import { readFileOnce } from "#core/files/open-file.ts";

const maxBytes = 1_048_576;

/**
 * Reads a small file that holds no secret, such as a certificate or a public key.
 * @returns the text, or why it cannot be read
 */
export function readTextFile(path: string): { readonly text: string } | { readonly fault: string } {
  try {
    return { text: readFileOnce(path, { links: "follow", maxBytes }).bytes.toString("utf8") };
  } catch (thrown) {
    return { fault: `The file cannot be read: ${messageOf(thrown)}` };
  }
}
