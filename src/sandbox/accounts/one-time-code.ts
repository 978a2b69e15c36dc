/** Time-based one-time passwords (RFC 6238: SHA-1, 6 digits, steps of 30 s), as the sandbox expects them for MFA. */
import { createHmac } from "node:crypto";
import { secondMs } from "#core/time.ts";

const stepMs = 30 * secondMs;
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Whether `code` is valid for the secret now, or one step before or after. A code may be used more than once. */
export function isOneTimeCode(code: string, secret: string, wallMs: number): boolean {
  return [-1, 0, 1].some((steps) => code === oneTimeCode(secret, wallMs + steps * stepMs));
}

/** The code of a base32 secret at an instant. @throws RangeError if the secret is not base32 */
export function oneTimeCode(secret: string, wallMs: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.max(0, Math.floor(wallMs / stepMs))));
  const digest = createHmac("sha1", base32Bytes(secret)).update(counter).digest();
  const offset = digest.readUInt8(digest.length - 1) & 15;
  const number = (digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000;
  return String(number).padStart(6, "0");
}

export function isBase32(text: string): boolean {
  return /^[A-Z2-7]{2,}$/i.test(withoutPadding(text));
}

function base32Bytes(text: string): Buffer {
  if (!isBase32(text)) throw new RangeError("a one-time-code secret must be base32: letters A to Z and digits 2 to 7");
  const letters = withoutPadding(text).toUpperCase().split("");
  const bits = letters.map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

function withoutPadding(text: string): string {
  return text.replaceAll(/[\s-]/g, "").replace(/=+$/, "");
}
