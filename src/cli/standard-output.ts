/** Writes all standard output of a process. */
import { fstatSync, writeSync } from "node:fs";
import type { TextSink } from "./output.ts";

/** @param onUnwritten called with the reason when output is lost; nothing may be written after it */
export function standardOutput(
  stdout: NodeJS.WriteStream & { readonly fd: number },
  onUnwritten: (error: NodeJS.ErrnoException) => void,
): TextSink {
  stdout.on("error", onUnwritten);
  const kind = fstatSync(stdout.fd);
  if (stdout.isTTY || !(kind.isFile() || kind.isCharacterDevice())) return stdout;
  const write = (text: string): void => {
    try {
      writeAll(stdout.fd, text);
    } catch (thrown) {
      onUnwritten(thrown as Error);
    }
  };
  return { write };
}

/** An almost full disk takes a part of a text without an error, and a stream of Node.js takes that for the whole. */
function writeAll(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) written += writeSync(fd, bytes, written);
}
