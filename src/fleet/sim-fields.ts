/**
 * What is kept of a SIM's record: some of its fields, each as text. A field that is an object is kept member by member
 * (`tags.site`), so that each can be asked for and its changes told one by one. What is secret in a record is never kept.
 */
import { scrubSecrets, scrubSecretsInJson } from "#core/scrub-secrets.ts";
import { withoutDepths } from "./depth.ts";
import { type RecordPath, textAt } from "./record-path.ts";

/** A value as it is kept: text, or the JSON of anything else (a number, a list, an object inside an object). */
export type FieldValue = { readonly text: string } | { readonly json: string };

/** Field, or member of a field with a dot between, to its value. A field without a value (null) is not there. */
export type SimFields = ReadonlyMap<string, FieldValue>;

/** Fields kept by default. */
export const usualFields = ["simId", "imsi", "speedClass", "status", "groupId", "tags", "subscription"] as const;

/** Secrets that platforms put into SIM records; a name that a person adds in the configuration joins them. */
export const secretFields: readonly string[] = [
  "arcClientPeerPrivateKey",
  "privateKey",
  "presharedKey",
  "psk",
  "ki",
  "opc",
  "password",
  "secret",
];

/** Names of the fields to keep: what the configuration names, and the class, without which nothing could be planned. */
export function keptFields(named: readonly string[], keyColumn: string): string[] {
  return [...new Set([...named, "speedClass"])].filter((name) => name !== keyColumn);
}

/** A value of more characters is kept cut. */
const mostCharacters = 1_000;

export interface FieldChoice {
  /** Names of fields, `a.b` for a member. */
  readonly fields: readonly string[];
  /** Names whose values are never kept, wherever in a record they are. */
  readonly secrets: ReadonlySet<string>;
  /** Where a record has a field that it does not have at its top. */
  readonly places: Readonly<Record<string, RecordPath | undefined>>;
}

/** Told of each field that is kept: its name, whether `text` is its value or the JSON of it, and the text. */
export type FieldVisitor = (name: string, kind: "text" | "json", text: string) => void;

/**
 * Picks the chosen fields out of a platform's record.
 * @returns the fields, and which of the chosen ones the record spoke of at all
 */
export function pickFields(
  record: Readonly<Record<string, unknown>>,
  choice: FieldChoice,
): { readonly fields: SimFields; readonly mentioned: readonly string[] } {
  const fields = new Map<string, FieldValue>();
  const mentioned = visitFields(record, choice, (name, kind, text) => {
    fields.set(name, kind === "text" ? { text } : { json: text });
  });
  return { fields, mentioned };
}

/** As `pickFields`, one after the other, for a list of thousands: nothing is made for each. @returns what it spoke of */
export function visitFields(
  record: Readonly<Record<string, unknown>>,
  choice: FieldChoice,
  visit: FieldVisitor,
): readonly string[] {
  const mentioned: string[] = [];
  const { secrets } = choice;
  for (const name of choice.fields) {
    const value = valueIn(record, name, choice);
    if (value === undefined) continue;
    mentioned.push(name);
    if (value === null || isSecret(name, secrets)) continue;
    if (!isPlainObject(value)) {
      visitValue(name, value, secrets, visit);
      continue;
    }
    for (const member of Object.keys(value)) {
      const inner = value[member];
      if (inner === null || inner === undefined || secrets.has(member)) continue;
      visitValue(memberName(name, member), inner, secrets, visit);
    }
  }
  return mentioned;
}

function isSecret(name: string, secrets: ReadonlySet<string>): boolean {
  return name.includes(".") ? name.split(".").some((part) => secrets.has(part)) : secrets.has(name);
}

/** A value as text: itself, or its JSON where it is no text. */
export function textOf(value: FieldValue): string {
  return "text" in value ? value.text : value.json;
}

/** The fields as one JSON object, members back in their objects. */
export function documentOf(fields: SimFields): Record<string, unknown> {
  const document: Record<string, unknown> = {};
  for (const [name, value] of fields) {
    const plain: unknown = "text" in value ? value.text : JSON.parse(value.json);
    const dot = name.indexOf(".");
    if (dot < 0) {
      define(document, name, plain);
      continue;
    }
    const outer = name.slice(0, dot);
    let inner = Object.hasOwn(document, outer) ? document[outer] : undefined;
    if (!isPlainObject(inner)) {
      inner = {};
      define(document, outer, inner);
    }
    define(inner as Record<string, unknown>, name.slice(dot + 1), plain);
  }
  return document;
}

/** As an own property, whatever its name: a tag may be called `__proto__`. */
function define(object: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * The JSON of a record without its secrets, for a digest that tells whether anything has changed. What lies deeper than
 * any record that means something is left out as well.
 */
export function jsonWithoutSecrets(whole: unknown, secrets: ReadonlySet<string>): string {
  const value = withoutDepths(whole);
  const text = JSON.stringify(value);
  // Only a record that has such a name at all pays for being written twice.
  if (secrets.size === 0 || !namesOf(secrets).test(text)) return text;
  return JSON.stringify(value, (key, inner: unknown) => (secrets.has(key) ? undefined : inner));
}

const patterns = new WeakMap<ReadonlySet<string>, RegExp>();

/** Finds any of the names in JSON; one pattern takes a quarter of the time of a search for each. */
function namesOf(secrets: ReadonlySet<string>): RegExp {
  let pattern = patterns.get(secrets);
  if (pattern === undefined) {
    const names = [...secrets].map((name) =>
      JSON.stringify(name)
        .slice(1, -1)
        .replace(/[^\w\s]/g, "\\$&"),
    );
    pattern = new RegExp(`"(?:${names.join("|")})"`);
    patterns.set(secrets, pattern);
  }
  return pattern;
}

function visitValue(name: string, mentioned: unknown, secrets: ReadonlySet<string>, visit: FieldVisitor): void {
  // A platform may echo one of our own secrets in a record.
  const value = typeof mentioned === "string" ? scrubSecrets(mentioned) : mentioned;
  if (typeof value === "string") {
    if (isPlain(value)) return visit(name, "text", value);
    if (!hasControl(value)) return visit(name, "text", cut(value.toWellFormed()));
  }
  const json = scrubSecretsInJson(jsonWithoutSecrets(value, secrets));
  return json.length > mostCharacters ? visit(name, "text", cut(json)) : visit(name, "json", json);
}

/** Whether a text is kept as it is: it is short, and has printable characters of ASCII alone, as nearly all have. */
function isPlain(text: string): boolean {
  if (text.length > mostCharacters) return false;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}

/** Names of members, so that the next record has them at hand. */
const memberNames = new Map<string, Map<string, string>>();
const mostMemberNames = 1_000;

function memberName(name: string, member: string): string {
  let names = memberNames.get(name);
  if (names === undefined) {
    names = new Map();
    memberNames.set(name, names);
  }
  let full = names.get(member);
  if (full === undefined) {
    full = `${name}.${member.toWellFormed()}`;
    if (names.size >= mostMemberNames) names.clear();
    names.set(member, full);
  }
  return full;
}

/** Never ends in half of a character: what is stored as UTF-8 would come back as another text. */
function cut(text: string): string {
  if (text.length <= mostCharacters) return text;
  return `${text.slice(0, mostCharacters).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

const control = /[\p{Cc}\u2028\u2029]/u;

function hasControl(text: string): boolean {
  return control.test(text);
}

function valueIn(record: Readonly<Record<string, unknown>>, name: string, { places, secrets }: FieldChoice): unknown {
  const own = Object.hasOwn(record, name) ? record[name] : undefined;
  if (own !== undefined) return own;
  const place = Object.hasOwn(places, name) ? places[name] : undefined;
  if (place !== undefined) return place.some((step) => secrets.has(step)) ? undefined : textAt(record, place);
  return name.includes(".") ? memberOf(record, name.split(".")) : undefined;
}

function memberOf(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  return isPlainObject(value) && Object.hasOwn(value, name) ? memberOf(value[name], rest) : undefined;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
