/** One-time passwords by time, for multi-factor authentication (RFC 6238: SHA-1, steps of 30 s). */
import { createHmac } from "node:crypto";

const stepMs = 30_000;
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/**
 * The one-time code of RFC 6238 that is valid at an instant (interface, section 5).
 * @param key the shared key in bytes; `digits` is 6 for the platform; the RFC's test vectors have 8
 */
export function oneTimeCode(key: Uint8Array, { wallMs, digits = 6 }: { wallMs: number; digits?: number }): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(wallMs / stepMs)));
  const mac = createHmac("sha1", key).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0x0f;
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** digits).padStart(digits, "0");
}

/** Decodes base32; case, spaces, hyphens and padding are ignored. Undefined if the text is empty or not base32. */
export function readBase32(text: string): Uint8Array | undefined {
  const symbols = text.toUpperCase().replace(/[\s-]/g, "").replace(/=+$/, "");
  const bytes: number[] = [];
  let held = 0;
  let bits = 0;
  for (const symbol of symbols) {
    const value = alphabet.indexOf(symbol);
    if (value < 0) return undefined;
    held = (held << 5) | value;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push((held >> bits) & 0xff);
      held &= (1 << bits) - 1;
    }
  }
  return bytes.length === 0 ? undefined : Uint8Array.from(bytes);
}
