/**
 * Blots secrets out of any text that leaves the process: the live ones (`core/secret`) in every form that they commonly
 * take on the way, and what stands in the place of a secret (token headers, passwords in addresses, tokens by their
 * shape) though it is not known. It works on the finished text, since naming the fields to hide misses what slipped into
 * a message. It cannot find a secret that was cut in two, encrypted or compressed.
 */
import { liveSecrets } from "#core/secret.ts";

const blot = "[secret]";

/** Shorter values would blot out ordinary words; a secret of this length is none. */
const leastLength = 4;
/** The same for forms that may be cut at both ends. */
const leastCutLength = 6;

const byteList = /^[0-9]+(, ?[0-9]+)+$/;

/** Forms by secret, so that they are made once; swept when most of them are no longer live. */
let formsBySecret = new Map<string, readonly string[]>();

/** The text without any secret that is known or that shows itself. */
export function scrub(text: string): string {
  let clean = text;
  const live = liveSecrets();
  if (formsBySecret.size > 2 * live.length + 16) formsBySecret = new Map();
  for (const secret of live) {
    for (const form of formsOf(secret)) {
      // A list of bytes becomes a number, so that JSON stays JSON.
      if (clean.includes(form)) clean = clean.replaceAll(form, byteList.test(form) ? "0" : blot);
    }
  }
  return scrubShapes(clean);
}

function formsOf(secret: string): readonly string[] {
  const known = formsBySecret.get(secret);
  if (known) return known;
  const forms = secret.length < leastLength ? [] : makeForms(secret);
  formsBySecret.set(secret, forms);
  return forms;
}

function makeForms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const plain = [secret, secret.trim(), inUrl(secret), inUrl(secret).replaceAll("%20", "+"), inForm(secret)];
  plain.push(...plain.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())));
  plain.push(inHtml(secret));
  const escaped = [...plain, inAscii(secret), secret.replaceAll("/", "\\/")].flatMap((form) => {
    const once = inJson(form);
    const twice = inJson(once);
    return [form, once, twice, inJson(twice), inAscii(once), inJson(inAscii(once))];
  });
  const hex = bytes.toString("hex");
  const cut = [0, 1, 2].flatMap((offset) => inBase64(bytes, offset)).filter((form) => form.length >= leastCutLength);
  const forms = [...escaped, hex, hex.toUpperCase(), bytes.join(","), bytes.join(", "), ...cut];
  return [...new Set(forms)].filter((form) => form.length >= leastLength).sort((a, b) => b.length - a.length);
}

function inUrl(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function inForm(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** JSON as writers make it that keep to ASCII. */
function inAscii(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function inHtml(text: string): string {
  const codes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replaceAll(/[&<>"']/g, (character) => codes[character] ?? character);
}

/** Base64 of text that holds the secret after `offset` bytes (of each three): only what no neighbour can change. */
function inBase64(bytes: Buffer, offset: number): string[] {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]);
  const start = [0, 2, 3][offset] ?? 0;
  const end = Math.floor((whole.length * 8) / 6);
  return [whole.toString("base64").slice(start, end), whole.toString("base64url").slice(start, end)];
}

/** A quick look for anything that the patterns below could match. */
const suspicious = /token|key|password|secret|authorization|otp|eyJ|:\/\//i;

/** A quote as it stands in JSON, however often the JSON was put into JSON again. */
const quote = String.raw`\\*"`;
const shapes: readonly { readonly pattern: RegExp; readonly to: string }[] = [
  // JSON: "X-Svc-Token":"…", "authKey":"…"
  {
    pattern: new RegExp(
      `(${quote}(?:x-[a-z0-9-]+-(?:api-key|token)|authorization|api-?key|auth-?key|token|password|mfaOTPCode|mfaSecret|adminToken|secret)${quote}\\s*:\\s*${quote})(?!\\[secret\\])(?:[^"\\\\]|\\\\+(?!["\\\\]))+`,
      "gi",
    ),
    to: `$1${blot}`,
  },
  // Headers as text: X-Svc-Token: …, Authorization: Bearer …
  { pattern: /\b(x-[a-z0-9-]+-(?:api-key|token)\s*[:=]\s*)(?!\[secret\])[^\s"'\\,;]+/gi, to: `$1${blot}` },
  { pattern: /\b(authorization\s*[:=]\s*(?:(?:bearer|basic)\s+)?)(?!\[secret\])[^\s"'\\,;]+/gi, to: `$1${blot}` },
  { pattern: /\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}/gi, to: `$1${blot}` },
  // Queries and forms: authKey=…, password=…
  {
    pattern: /\b((?:authKey|apiKey|token|password|mfaOTPCode|secret)=)(?!\[secret\])[^\s"'\\&]+/gi,
    to: `$1${blot}`,
  },
  // A JSON Web Token, wherever it is
  { pattern: /\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*/g, to: blot },
  // A password in an address
  { pattern: /(\b[a-z][a-z0-9+.-]*:\/\/[^\s"'/@:]*:)(?!\[secret\])[^\s"'/@]+@/gi, to: `$1${blot}@` },
];

function scrubShapes(text: string): string {
  if (!suspicious.test(text)) return text;
  return shapes.reduce((clean, { pattern, to }) => clean.replace(pattern, to), text);
}
