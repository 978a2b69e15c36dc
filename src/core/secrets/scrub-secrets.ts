/**
 * Removes the live secrets (`secret.ts`), and other secret values that a caller names, from text, and nothing else: a
 * text without them is returned unchanged. It finds each value
 * - verbatim, and with any of its characters percent-encoded (also several times, or `+` for a space), escaped as in
 *   JSON or JavaScript (also nested), or as one of the five entities of XML;
 * - inside base64 and base64url at any offset, with or without padding;
 * - in hexadecimal in either case, with or without separators, and as a list of bytes.
 *
 * Named values are also found in another case, and where a text was cut within them. It does not find a value that was
 * split, reversed, encrypted, hashed or compressed. Running time is linear in the text: every repetition is bounded.
 */
import { liveSecrets } from "./secret.ts";

const replacement = "[secret]";

/** A shorter value would remove ordinary words and is not treated as a secret. */
const minCharacters = 4;
/** The encodings of a shorter value occur in ordinary numbers and words. */
const minEncodedBytes = 6;
/** So many first characters of a value decide whether its pattern is made. */
const startCharacters = 8;
/** A named value may be a word of a file, so that it has to be longer than a secret. */
const minNamedCharacters = 6;

/** Returns the text without the live secrets. */
export function scrubSecrets(text: string): string {
  const secrets = liveSecrets();
  if (live.secrets !== secrets) live = makePatterns(secrets, live.bySecret);
  return text.length < live.minLength ? text : withoutSpans(text, live.patterns);
}

/** Returns the text without these values, in any case. */
export function scrubValues(text: string, values: readonly string[]): string {
  const long = values.filter((value) => value.trim().length >= minNamedCharacters);
  const present = long.filter((value) => mayHold(text, value.trim()));
  const clean = withoutSpans(
    text,
    present.map((value) => makePattern(value, "gi")),
  );
  if (!clean.includes("…")) return clean;
  const forms = long.flatMap((value) => listPlainForms(value));
  const parts = clean.split("…");
  return parts.map((part, at) => (at === parts.length - 1 ? part : forms.reduce(withoutCutEnd, part))).join("…");
}

/** Whether the pattern of a value can match a text: to build one for the values of each row takes milliseconds. */
function mayHold(text: string, value: string): boolean {
  if (text.length < value.length) return false;
  // Escapes, and letters with several forms, are left to the pattern.
  if (/[%\\&+]/.test(text) || /[^\x20-\x7e]/.test(value)) return true;
  const lower = text.toLowerCase();
  if (lower.includes(value.toLowerCase())) return true;
  const bytes = Buffer.from(value);
  if (lower.replaceAll(/0x|[\s:,-]/g, "").includes(bytes.toString("hex"))) return true;
  if (text.replaceAll(/\s/g, "").includes(bytes.join(","))) return true;
  const base64 = lower.replaceAll("-", "+").replaceAll("_", "/");
  return [0, 1, 2].some((at) => base64.includes(base64CoreOf(bytes, at).toLowerCase()));
}

/** Returns the JSON document without the live secrets in its names and strings; its structure is preserved. */
export function scrubSecretsInJson(json: string): string {
  return scrubSecrets(json) === json ? json : scrubJson(json, scrubSecrets);
}

/** Returns the JSON document with its names, strings, and lists and numbers that stand for a text, scrubbed. */
export function scrubJson(json: string, scrubText: (text: string) => string): string {
  const document: unknown = JSON.parse(json, (_name, value: unknown) => {
    if (typeof value === "string") return scrubText(value);
    if (typeof value === "number" || Array.isArray(value)) {
      const written = JSON.stringify(value);
      return scrubText(written) === written ? value : replacement;
    }
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [scrubText(name), inner as unknown]));
  });
  return JSON.stringify(document);
}

type Pattern = ReturnType<typeof makePattern>;

/** The patterns of the live secrets, rebuilt when these have changed. */
let live = makePatterns([], new Map<string, Pattern>());

/** @param known patterns that were made before */
function makePatterns(secrets: readonly string[], known: ReadonlyMap<string, Pattern>) {
  const long = secrets.filter((secret) => secret.trim().length >= minCharacters);
  const bySecret = new Map(long.map((one) => [one, known.get(one) ?? makePattern(one, "g")]));
  const patterns = [...bySecret.values()];
  return { secrets, bySecret, patterns, minLength: Math.min(...patterns.map(({ minLength }) => minLength)) };
}

function withoutSpans(text: string, patterns: readonly Pattern[]): string {
  const found: { start: number; end: number; by: string }[] = [];
  for (const { start: first, whole, minLength } of patterns) {
    if (text.length < minLength || text.search(first) < 0) continue;
    for (const hit of text.matchAll(whole())) {
      // A remaining backslash would escape the replacement and break the JSON.
      const start = isEscaped(text, hit.index) ? hit.index - 1 : hit.index;
      // A list of bytes becomes a number, so that JSON stays JSON.
      found.push({ start, end: hit.index + hit[0].length, by: hit[1] === undefined ? replacement : "0" });
    }
  }
  if (found.length === 0) return text;
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, by } of found) {
    if (end <= at) continue;
    // Overlapping spans are merged: the first part has already been replaced.
    if (start >= at) parts.push(text.slice(at, start), by);
    at = end;
  }
  return `${parts.join("")}${text.slice(at)}`;
}

/** Whether an odd number of backslashes precedes a position. */
function isEscaped(text: string, at: number): boolean {
  let from = at;
  while (text[from - 1] === "\\") from -= 1;
  return (at - from) % 2 === 1;
}

/** Removes the start of a value at the end of a text, where a message was cut to its length. */
function withoutCutEnd(text: string, form: string): string {
  for (let length = Math.min(form.length - 1, text.length); length >= minNamedCharacters; length -= 1) {
    if (text.endsWith(form.slice(0, length))) return `${text.slice(0, -length)}${replacement}`;
  }
  return text;
}

function listPlainForms(value: string): string[] {
  const bytes = Buffer.from(value);
  return [value, encodeURIComponent(value.toWellFormed()), bytes.toString("base64"), bytes.toString("hex")];
}

/**
 * @returns `start` matches the first characters of the value: a text without them does not need the `whole` pattern,
 *   which is slow to make; no form of the value is shorter than `minLength`
 */
function makePattern(secret: string, flags: "g" | "gi") {
  const value = secret.trim();
  const start = Array.from(value).slice(0, startCharacters).join("");
  let whole: RegExp | undefined;
  return { start: formsOf(start, flags), whole: () => (whole ??= formsOf(value, flags)), minLength: value.length };
}

/** Matches a value in any form, and no longer text than that. */
function formsOf(value: string, flags: "g" | "gi"): RegExp {
  const readable = Array.from(value.matchAll(/\\+|./gsu), ([part]) => anyFormOf(part)).join("");
  const bytes = Buffer.from(value);
  const byteList = `(?<!\\d)(${[...bytes].join(String.raw`,\s{0,2}`)})(?!\\d)`;
  const hex = [...bytes].map(hexOf).join(String.raw`[\s:,-]{0,2}(?:0[xX])?`);
  const encoded = bytes.length < minEncodedBytes ? [] : [...[0, 1, 2].map((at) => base64Of(bytes, at)), hex, byteList];
  return new RegExp([readable, ...encoded].join("|"), flags);
}

const letters: Readonly<Record<string, string>> = { "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t" };
const entities: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos" };

/** A character, or a run of backslashes, verbatim or in any escape. */
function anyFormOf(part: string): string {
  if (part.startsWith("\\")) {
    return `(?:\\\\{${part.length},${part.length * 8}}|(?:${percentOf("\\")}|${unicodeOf("\\")}){${part.length}})`;
  }
  const forms = [percentOf(part), unicodeOf(part), literally(part)];
  const escaped = letters[part] ?? (/["'/]/.test(part) ? part : undefined);
  if (escaped !== undefined) forms.unshift(`\\\\{1,7}${escaped}`);
  if (entities[part] !== undefined) forms.unshift(`&${entities[part]};`);
  if (part === " ") forms.push("\\+");
  return `(?:${forms.join("|")})`;
}

function percentOf(character: string): string {
  return Array.from(Buffer.from(character), (byte) => `%(?:25){0,4}${hexOf(byte)}`).join("");
}

/** `\u0041` for each code unit; `\x41` for the first 256. */
function unicodeOf(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units
    .map((unit) => {
      const low = hexOf(unit % 256);
      return unit < 256 ? `\\\\{1,7}(?:u00|x)${low}` : `\\\\{1,7}u${hexOf(Math.floor(unit / 256))}${low}`;
    })
    .join("");
}

/** Two digits, in either case. */
function hexOf(byte: number): string {
  const digits = byte.toString(16).padStart(2, "0");
  return digits.replaceAll(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

/** Base64 of text that holds the bytes after `offset` others: the characters that do not depend on neighbors. */
function base64CoreOf(bytes: Buffer, offset: number): string {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]);
  return whole.toString("base64").slice([0, 2, 3][offset], Math.floor((whole.length * 8) / 6));
}

function base64Of(bytes: Buffer, offset: number): string {
  const core = base64CoreOf(bytes, offset);
  const plus = core.replaceAll("/", String.raw`(?:\\{0,3}/|_|%2[fF])`).replaceAll("+", "(?:[+-]|%2[bB])");
  // Its last character holds only bits of the secret where padding follows.
  return `${plus}(?:[\\w+/-]?={1,2}(?![\\w=]))?`;
}

function literally(character: string): string {
  return character.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
