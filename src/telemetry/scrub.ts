/**
 * Removes secrets from a log line: the live secrets in all their forms (`core/scrub-secrets`), and unknown values in
 * the position of a secret (token headers, passwords in URLs, strings shaped like tokens). It processes the finished
 * line, since redacting named fields would miss secrets inside messages. The shape patterns apply to the log only: in
 * command output or a response, a cell `token=abc` is data. Running time is linear in the line, so every repetition
 * below is bounded or cannot restart within the text it has consumed.
 */
import { scrubSecrets } from "#core/scrub-secrets.ts";

const replacement = "[secret]";

/** Returns the line without known secrets and anything shaped like one. */
export function scrub(line: string): string {
  return scrubShapes(scrubSecrets(line));
}

/** A quick check for anything that the patterns below could match. */
const suspicious = /token|key|password|secret|authorization|bearer|otp|eyJ|:\/\//i;

/** A quote as it appears in JSON, even if the JSON was nested in JSON several times. */
const quote = String.raw`\\{0,31}"`;
const shapes: readonly { readonly pattern: RegExp; readonly to: string }[] = [
  // JSON: "X-Svc-Token":"…", "authKey":"…"
  {
    pattern: new RegExp(
      `((?<=")(?:x-[a-z0-9-]{1,64}-(?:api-key|token)|authorization|api-?key|auth-?key|token|password|mfaOTPCode|mfaSecret|adminToken|secret)${quote}\\s*:\\s*${quote})(?!\\[secret\\])(?:[^"\\\\]|\\\\+(?!["\\\\]))+`,
      "gi",
    ),
    to: `$1${replacement}`,
  },
  // Headers as text: X-Svc-Token: …, Authorization: Bearer …
  {
    pattern: /(?<=\bx-[a-z0-9-]{1,64})(-(?:api-key|token)\s*[:=]\s*)(?!\[secret\])[^\s"'\\,;]+/gi,
    to: `$1${replacement}`,
  },
  {
    pattern: /\b(authorization\s*[:=]\s*(?:(?:bearer|basic)\s+)?)(?!\[secret\])[^\s"'\\,;]+/gi,
    to: `$1${replacement}`,
  },
  { pattern: /\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}/gi, to: `$1${replacement}` },
  // Queries and forms: authKey=…, password=…
  {
    pattern: /\b((?:authKey|apiKey|token|password|mfaOTPCode|secret)=)(?!\[secret\])[^\s"'\\&]+/gi,
    to: `$1${replacement}`,
  },
  // A password in an address
  {
    pattern: /(?<=[a-z0-9+.-])(:\/\/[^\s"'/@:]*:)(?!\[secret\])[^\s"'/@]+@/gi,
    to: `$1${replacement}@`,
  },
];

function scrubShapes(line: string): string {
  if (!suspicious.test(line)) return line;
  const clean = line.replace(dottedWords, withoutWebTokens);
  return shapes.reduce((text, { pattern, to }) => text.replace(pattern, to), clean);
}

/** Ranges that may contain a JSON Web Token; each is read once. */
const dottedWords = /[A-Za-z0-9_.-]+/g;

/** Redacts JSON Web Tokens: a part that starts with `eyJ`, or has a hyphen before it, and the two parts after it. */
function withoutWebTokens(words: string): string {
  if (!words.includes("eyJ")) return words;
  const parts = words.split(".");
  const clean: string[] = [];
  for (let i = 0; i < parts.length; i += 1) {
    const part = parts[i] ?? "";
    const at = /(?:^|-)eyJ[A-Za-z0-9_-]{5}/.exec(part)?.index;
    if (at === undefined || (parts[i + 1]?.length ?? 0) < 5) {
      clean.push(part);
      continue;
    }
    clean.push(`${part.slice(0, at === 0 ? 0 : at + 1)}${replacement}`);
    i += 2;
  }
  return clean.join(".");
}
