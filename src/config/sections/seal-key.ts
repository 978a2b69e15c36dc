/**
 * The keys that encrypt secrets which must survive a crash and may not be stored in Redis as plain text: 256 bits each,
 * read from a file.
 */
import type { Problem } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import { readSecretBytes } from "../secrets/secret-file.ts";
import type { Values } from "../read-settings.ts";

/** Each key is the base64url text of its 32 bytes. */
export interface SealKeys {
  readonly key: Secret;
  /** Still opens what was sealed before the key was changed. */
  readonly previousKey: Secret | undefined;
}

const keyBytes = 32;

/** The command that makes a key file. */
export function makingOf(file: string): string {
  return `(umask 077; openssl rand -hex ${keyBytes} > ${file})`;
}

/** @returns undefined where no key is configured, or where it is faulty, which `problems` then says */
export function readSealKeys(values: Values, problems: Problem[]): SealKeys | undefined {
  const key = readKey("sealKeyFile", values, problems);
  const previousKey = readKey("sealPreviousKeyFile", values, problems);
  if (key === undefined && previousKey !== undefined && values.whereOf("sealKeyFile") === undefined) {
    const where = values.whereOf("sealPreviousKeyFile") ?? "seal.previousKeyFile";
    problems.push({ where, message: "is given without seal.keyFile (SIMFLEET_SEAL_KEY_FILE)." });
  }
  return key === undefined ? undefined : { key, previousKey };
}

function readKey(id: "sealKeyFile" | "sealPreviousKeyFile", values: Values, problems: Problem[]): Secret | undefined {
  const file = values.get(id);
  if (file === undefined) return undefined;
  const where = values.whereOf(id) ?? file;
  const read = readSecretBytes(file);
  if ("fault" in read) {
    problems.push({ where, message: `${read.fault} A key is made with: ${makingOf(file)}` });
    return undefined;
  }
  const bytes = keyIn(read.bytes);
  if (bytes !== undefined) return new Secret(bytes.toString("base64url"));
  const message = `${file} must hold ${keyBytes} bytes, raw, in hex or in base64url. A key is made with: ${makingOf(file)}`;
  problems.push({ where, message });
  return undefined;
}

function keyIn(raw: Buffer): Buffer | undefined {
  if (raw.length === keyBytes) return raw;
  const trimmed = raw.toString("utf8").trim();
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return Buffer.from(trimmed, "hex");
  if (/^[A-Za-z0-9_+/-]{43}=?$/.test(trimmed)) return Buffer.from(trimmed, "base64");
  return undefined;
}
