/**
 * Makes untrusted text (names of runs and files, responses of the platform or of a remote worker) safe for a terminal:
 * control characters (C0, DEL, C1), line breaks, direction marks and other invisible characters become visible escapes
 * (`\n`, `\x1b`, `\u202e`), so that it can neither control the terminal nor imitate another line. Not for JSON and CSV.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const hiddenButLineFeed = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const escapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** One value, on one line. */
export function visible(text: string): string {
  return text.replace(hidden, escaped);
}

/** Text of several lines whose line feeds are trusted. */
export function visibleLines(text: string): string {
  return text.replace(hiddenButLineFeed, escaped);
}

/** A document with every string on one line, including member names. */
export function visibleIn<T>(document: T): T;
export function visibleIn(document: unknown): unknown {
  if (typeof document === "string") return visible(document);
  if (Array.isArray(document)) return document.map((inner: unknown) => visibleIn(inner));
  if (typeof document !== "object" || document === null) return document;
  return Object.fromEntries(Object.entries(document).map(([name, inner]) => [visible(name), visibleIn(inner)]));
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  if (escapes[character] !== undefined) return escapes[character];
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\u{${hex}}`;
}
