/**
 * Removes the live secrets (`secret.ts`) from text, and nothing else: a text without a live secret is returned
 * unchanged. It finds each secret
 * - verbatim, reversed, and with NUL or invisible characters between its own (UTF-16 that was decoded as UTF-8);
 * - percent-encoded in either case, form-encoded (`+` for a space), in HTML entities (named, decimal, hexadecimal)
 *   and in JSON or JavaScript escapes, for any of its characters, up to five layers deep and mixed;
 * - inside base64 and base64url at any offset, with or without padding and line breaks, as UTF-8 or UTF-16;
 * - in hexadecimal in either case, with or without separators, as UTF-8 or UTF-16, and as a list of bytes.
 *
 * It does not find a secret that was split, encrypted, hashed or compressed. Running time is linear in the text.
 */
import { liveSecrets } from "./secret.ts";

const replacement = "[secret]";

/** A shorter value would remove ordinary words and is not treated as a secret. */
const leastCharacters = 4;
/** For a shorter value only the plain text is searched: its encodings occur in ordinary numbers and words. */
const leastEncodedBytes = 6;
const leastReversed = 8;
/** Number of escape layers that are decoded. */
const mostLayers = 5;

/** Returns the text without the live secrets. */
export function scrubSecrets(text: string): string {
  const { shortest, ofSecrets } = liveNeedles();
  if (text.length < shortest) return text;
  // No encoding is shorter than the secret itself.
  const wanted = ofSecrets.filter(({ leastLength }) => leastLength <= text.length);
  const found: Span[] = [];
  const searched = new Set<string>();
  for (const step of unescapeSteps) {
    let layer: View = { text, steps: [] };
    for (let depth = 0; depth <= mostLayers; depth += 1) {
      if (!searched.has(layer.text)) searchLayer(layer, wanted, found);
      searched.add(layer.text);
      const next = viewOf(layer, step);
      if (next === layer) break;
      layer = next;
    }
  }
  return found.length === 0 ? text : withoutSpans(text, found);
}

/** Returns the JSON document without the live secrets in its names and strings; its structure is preserved. */
export function scrubSecretsInJson(json: string): string {
  if (scrubSecrets(json) === json) return json;
  const document: unknown = JSON.parse(json, (_name, value: unknown) => {
    if (typeof value === "string") return scrubSecrets(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [scrubSecrets(name), inner as unknown]));
  });
  return JSON.stringify(document);
}

/** A range of the text, and its replacement. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/** The text after some rewriting steps; the steps are kept to map a match back to the original text. */
interface View {
  readonly text: string;
  readonly steps: readonly { readonly step: Step; readonly before: string }[];
}

/** Rewrites every match of `pattern`; the whole output for a match maps to the whole match. */
interface Step {
  readonly pattern: RegExp;
  readonly rewrite: (match: string) => string;
}

function viewOf(view: View, step: Step): View {
  const before = view.text;
  const text = before.replace(step.pattern, step.rewrite);
  return text === before ? view : { text, steps: [...view.steps, { step, before }] };
}

function searchLayer(layer: View, wanted: readonly Needles[], found: Span[]): void {
  const visible = viewOf(layer, invisibleStep);
  const base64 = viewOf(viewOf(layer, base64Step), invisibleStep);
  const hex = viewOf(layer, hexStep);
  const dense = viewOf(layer, whiteSpaceStep);
  for (const needles of wanted) {
    found.push(...hitsOf(needles.texts, layer));
    if (visible !== layer) found.push(...hitsOf(needles.texts, visible));
    found.push(...hitsOf(needles.base64, base64).map((hit) => ({ ...hit, end: afterPadding(base64, hit.end) })));
    found.push(...hitsOf(needles.hex, hex));
    // A list of bytes becomes a number, so that JSON stays JSON.
    found.push(...hitsOf(needles.byteLists, dense).map((hit) => ({ ...hit, by: "0" })));
  }
}

function hitsOf(needles: readonly string[], view: View): Span[] {
  const hits: Span[] = [];
  for (const needle of needles) {
    let at = view.text.indexOf(needle);
    if (at < 0) continue;
    const source = sourceOf(view);
    const places = placesOf(view);
    for (; at >= 0; at = view.text.indexOf(needle, at + needle.length)) {
      const start = places.starts[at] ?? 0;
      const end = places.ends[at + needle.length - 1] ?? 0;
      // A remaining backslash would escape the replacement and break the JSON.
      hits.push({ start: isEscaped(source, start) ? start - 1 : start, end, by: replacement });
    }
  }
  return hits;
}

/** The text that a view was created from. */
function sourceOf(view: View): string {
  return view.steps[0]?.before ?? view.text;
}

/** The end of base64 that ends with a secret: its last character holds only bits of the secret. */
function afterPadding(view: View, end: number): number {
  const [padding = ""] = /^[\w+/-]?={1,2}(?![\w=])/.exec(sourceOf(view).slice(end, end + 4)) ?? [];
  return end + padding.length;
}

/** Whether an odd number of backslashes precedes a position. */
function isEscaped(text: string, at: number): boolean {
  let from = at;
  while (text[from - 1] === "\\") from -= 1;
  return (at - from) % 2 === 1;
}

/** For each character of a view, its start and end in the original text. */
interface Places {
  readonly starts: ArrayLike<number>;
  readonly ends: ArrayLike<number>;
}

const placesByView = new WeakMap<View, Places>();

function placesOf(view: View): Places {
  let places = placesByView.get(view);
  if (places === undefined) {
    const starts = Uint32Array.from({ length: sourceOf(view).length }, (_, i) => i);
    places = { starts, ends: starts.map((start) => start + 1) };
    for (const { step, before } of view.steps) places = placesAfter(step, before, places);
    placesByView.set(view, places);
  }
  return places;
}

function placesAfter({ pattern, rewrite }: Step, before: string, places: Places): Places {
  const starts: number[] = [];
  const ends: number[] = [];
  let copied = 0;
  const copyTo = (end: number): void => {
    for (; copied < end; copied += 1) {
      starts.push(places.starts[copied] ?? 0);
      ends.push(places.ends[copied] ?? 0);
    }
  };
  for (const { 0: match, index } of before.matchAll(pattern)) {
    copyTo(index);
    copied = index + match.length;
    const written = rewrite(match);
    for (let i = 0; i < written.length; i += 1) {
      starts.push(places.starts[index] ?? 0);
      ends.push(places.ends[copied - 1] ?? 0);
    }
  }
  copyTo(before.length);
  return { starts, ends };
}

function withoutSpans(text: string, found: Span[]): string {
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  const deps: string[] = [];
  let at = 0;
  for (const { start, end, by } of found) {
    if (end <= at) continue;
    // Overlapping ranges are merged: the first part has already been replaced.
    if (start >= at) deps.push(text.slice(at, start), by);
    at = end;
  }
  deps.push(text.slice(at));
  return deps.join("");
}

interface Needles {
  readonly texts: readonly string[];
  /** In the base64 alphabet, without padding. */
  readonly base64: readonly string[];
  /** In lower case, without separators. */
  readonly hex: readonly string[];
  readonly byteLists: readonly string[];
  readonly leastLength: number;
}

/** The patterns to search for, rebuilt when the live secrets have changed. */
let prepared: {
  readonly secrets: readonly string[];
  readonly bySecret: ReadonlyMap<string, Needles>;
  readonly ofSecrets: readonly Needles[];
  readonly shortest: number;
} = { secrets: [], bySecret: new Map(), ofSecrets: [], shortest: Number.POSITIVE_INFINITY };

function liveNeedles(): { readonly shortest: number; readonly ofSecrets: readonly Needles[] } {
  const secrets = liveSecrets();
  if (prepared.secrets !== secrets) {
    const bySecret = new Map(secrets.map((secret) => [secret, prepared.bySecret.get(secret) ?? makeNeedles(secret)]));
    const ofSecrets = [...bySecret.values()];
    const shortest = Math.min(...ofSecrets.map(({ leastLength }) => leastLength));
    prepared = { secrets, bySecret, ofSecrets, shortest };
  }
  return prepared;
}

function makeNeedles(secret: string): Needles {
  const trimmed = secret.trim();
  if (trimmed.length < leastCharacters) {
    return { texts: [], base64: [], hex: [], byteLists: [], leastLength: Number.POSITIVE_INFINITY };
  }
  const readable = [secret, trimmed, secret.toWellFormed(), secret.replaceAll(" ", "+"), unescaped(secret)];
  const reversed = trimmed.length < leastReversed ? [] : [Array.from(trimmed).toReversed().join("")];
  const encodable = [...new Set([secret, trimmed])].map((text) => Buffer.from(text));
  // Without its last byte, the little-endian form is also part of the big-endian one.
  const wide = Buffer.from(trimmed, "utf16le").subarray(0, -1);
  const bytes = [...encodable, wide].filter(({ length }) => length >= leastEncodedBytes);
  return {
    texts: distinct([...readable, ...reversed]).filter((text) => text.trim().length >= leastCharacters),
    base64: distinct(bytes.flatMap((some) => [0, 1, 2].map((offset) => base64Core(some, offset)))),
    hex: distinct(bytes.map((some) => some.toString("hex"))),
    byteLists: distinct(encodable.map((some) => some.join(","))),
    leastLength: trimmed.length,
  };
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort((a, b) => b.length - a.length);
}

/** Base64 of text that holds the bytes after `offset` others: only the characters that do not depend on neighbors. */
function base64Core(bytes: Buffer, offset: number): string {
  const whole = Buffer.concat([Buffer.alloc(offset), bytes]);
  return whole.toString("base64").slice([0, 2, 3][offset], Math.floor((whole.length * 8) / 6));
}

const invisible = String.raw`\0\u00AD\u200B-\u200F\u2060\uFEFF`;
const invisibleStep: Step = { pattern: new RegExp(`[${invisible}]+`, "g"), rewrite: () => "" };

const whiteSpaceStep: Step = { pattern: /\s+/g, rewrite: () => "" };

const base64Step: Step = {
  pattern: /[-_]|[\s=]+/g,
  rewrite: (match) => (match === "-" ? "+" : match === "_" ? "/" : ""),
};

const hexStep: Step = {
  pattern: /[A-F]+|0[xX](?=[0-9A-Fa-f]{2})|[\s:,-]+/g,
  rewrite: (match) => (/^[A-F]/.test(match) ? match.toLowerCase() : ""),
};

const escapes = {
  // One character of UTF-8, a lone byte (Latin-1), or `%uXXXX`
  percent:
    "%(?:u[0-9a-f]{4}|[0-7][0-9a-f]|[cd][0-9a-f]%[89ab][0-9a-f]|e[0-9a-f](?:%[89ab][0-9a-f]){2}|f[0-7](?:%[89ab][0-9a-f]){3}|[89a-f][0-9a-f])",
  entity: "&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8}[0-9]{0,2});",
  backslash: String.raw`\\(?:u\{[0-9a-f]{1,6}\}|u[0-9a-f]{4}|x[0-9a-f]{2}|["'\\/bfnrt])`,
} as const;

function unescapeStep(...kinds: readonly (keyof typeof escapes)[]): Step {
  return {
    pattern: new RegExp(kinds.map((kind) => escapes[kind]).join("|"), "gi"),
    rewrite: (match) => {
      if (match.startsWith("%")) return fromPercent(match);
      return match.startsWith("&") ? fromEntity(match) : fromBackslash(match);
    },
  };
}

const unescapeAll = unescapeStep("percent", "entity", "backslash");

/**
 * Every combination of escapes. A secret that ends with `%` before digits, or begins with digits after a `%`, looks like
 * percent-encoding when only its quotes were escaped: then the other escapes alone reveal it.
 */
const unescapeSteps: readonly Step[] = [
  unescapeAll,
  unescapeStep("entity", "backslash"),
  unescapeStep("percent", "backslash"),
  unescapeStep("percent", "entity"),
  unescapeStep("backslash"),
  unescapeStep("entity"),
  unescapeStep("percent"),
];

function unescaped(text: string): string {
  let view: View = { text, steps: [] };
  for (let depth = 0; depth < mostLayers; depth += 1) view = viewOf(view, unescapeAll);
  return view.text;
}

function fromPercent(match: string): string {
  if (match[1] === "u" || match[1] === "U") return String.fromCharCode(Number.parseInt(match.slice(2), 16));
  const bytes = Buffer.from(match.replaceAll("%", ""), "hex");
  return bytes.toString(bytes.length === 1 ? "latin1" : "utf8");
}

const codesByLetter: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function fromBackslash(match: string): string {
  const digits = /[0-9a-f]{2,}/i.exec(match.slice(2))?.[0] ?? (match[2] === "{" ? match.slice(3, -1) : "");
  if (digits !== "") return fromCode(Number.parseInt(digits, 16), match);
  const letter = match[1] ?? "";
  return codesByLetter[letter] ?? letter;
}

function fromCode(code: number, match: string): string {
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : match;
}

const latin1Names =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro " +
  "para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil " +
  "Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave " +
  "Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml " +
  "igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute " +
  "thorn yuml";

/** The names of HTML 4 in Latin-1, and those of HTML 5 for punctuation. */
const charactersByName: ReadonlyMap<string, string> = new Map([
  ...latin1Names.split(" ").map((name, i) => [name, String.fromCharCode(0xa0 + i)] as const),
  ...Object.entries({
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    excl: "!",
    num: "#",
    dollar: "$",
    percnt: "%",
    lpar: "(",
    rpar: ")",
    ast: "*",
    plus: "+",
    comma: ",",
    period: ".",
    sol: "/",
    colon: ":",
    semi: ";",
    equals: "=",
    quest: "?",
    commat: "@",
    lsqb: "[",
    lbrack: "[",
    bsol: "\\",
    rsqb: "]",
    rbrack: "]",
    hat: "^",
    lowbar: "_",
    grave: "`",
    lcub: "{",
    lbrace: "{",
    verbar: "|",
    vert: "|",
    rcub: "}",
    rbrace: "}",
    tab: "\t",
    newline: "\n",
  }),
]);

function fromEntity(match: string): string {
  const name = match.slice(1, -1);
  if (!name.startsWith("#")) return charactersByName.get(name) ?? charactersByName.get(name.toLowerCase()) ?? match;
  const isHex = name[1] === "x" || name[1] === "X";
  return fromCode(Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10), match);
}
