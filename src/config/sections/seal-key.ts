/**
 * The keys that encrypt secrets which must survive a crash and may not be stored in Redis as plain text: 256 bits each,
 * read from a file.
 */
import type { z } from "zod";
import { Secret } from "#core/secrets/secret.ts";
import type { Report } from "../report.ts";
import { readSecretBytes } from "../secrets/secret-file.ts";
import { group, setting } from "../setting.ts";
import { path } from "../value-types.ts";

/** Each key as base64url text of its 32 bytes. `previousKey` still opens what was sealed before the key was changed. */
export type SealKeys = NonNullable<ReturnType<typeof readSealKeys>>;

const keyBytes = 32;

export function makingOf(file: string): string {
  return `(umask 077; openssl rand -hex ${keyBytes} > ${file})`;
}

export const sealSection = group({
  keyFile: setting(
    path.optional(),
    "File of the key that encrypts new secrets of a rotation and secret inputs of operations: 32 bytes, raw, in hex or in base64url. Required for rotations and secret inputs.",
  ),
  previousKeyFile: setting(
    path.optional(),
    "File of the previous key, which still decrypts secrets of rotations that started with it.",
  ),
});

/** @returns undefined where no key is configured, or where it is faulty, which `report` then says */
export function readSealKeys(written: z.output<typeof sealSection>, report: Report) {
  const key = readKey("seal.keyFile", written.keyFile, report);
  const previousKey = readKey("seal.previousKeyFile", written.previousKeyFile, report);
  if (previousKey !== undefined && !report.isGiven("seal.keyFile")) {
    report.fault("seal.previousKeyFile", "is given without seal.keyFile (SIMFLEET_SEAL_KEY_FILE).");
  }
  return key === undefined ? undefined : { key, previousKey };
}

function readKey(at: string, file: string | undefined, report: Report): Secret | undefined {
  if (file === undefined) return undefined;
  const read = readSecretBytes(file);
  const bytes = "bytes" in read ? keyIn(read.bytes) : undefined;
  if (bytes !== undefined) return new Secret(bytes.toString("base64url"));
  const fault = "fault" in read ? read.fault : `${file} must contain ${keyBytes} bytes, raw, in hex or in base64url.`;
  report.unreadable(at, `${fault} A key is made with: ${makingOf(file)}`);
  return undefined;
}

function keyIn(raw: Buffer): Buffer | undefined {
  if (raw.length === keyBytes) return raw;
  const trimmed = raw.toString("utf8").trim();
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return Buffer.from(trimmed, "hex");
  if (/^[A-Za-z0-9_+/-]{43}=?$/.test(trimmed)) return Buffer.from(trimmed, "base64");
  return undefined;
}
