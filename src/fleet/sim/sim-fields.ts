/**
 * The fields of a SIM record to store, each as text. An object is stored member by member (`tags.site`), so that each
 * member can be queried and its changes reported individually. Secrets in a record are never stored.
 */
import { isPlainObject } from "#core/json.ts";
import { scrubSecrets, scrubSecretsInJson } from "#core/secrets/scrub-secrets.ts";
import type { FieldValue } from "./field-text.ts";
import { type RecordPath, textAt } from "./record-path.ts";

/** Maps a field, or a member of a field (`field.member`), to its value. A field without a value (null) is absent. */
export type SimFields = ReadonlyMap<string, FieldValue>;

/** Fields stored by default. */
export const usualFields = ["simId", "imsi", "speedClass", "status", "groupId", "tags", "subscription"] as const;

/** Secrets that platforms put into SIM records; names from the configuration are added to them. */
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

/**
 * Names of the fields to store: those in the configuration, and those of the operations, which plans require. A member
 * of an object that is stored as a whole is not named again.
 */
export function keptFields(
  named: readonly string[],
  { keyColumn, ofOperations }: { readonly keyColumn: string; readonly ofOperations: readonly string[] },
): string[] {
  const names = new Set([...named, ...ofOperations]);
  const isWithin = (name: string): boolean => {
    const steps = name.split(".");
    return steps.slice(1).some((_, i) => names.has(steps.slice(0, i + 1).join(".")));
  };
  return [...names].filter((name) => name !== keyColumn && !isWithin(name));
}

/** Longer values are truncated to this many characters. */
const maxCharacters = 1_000;

export interface FieldSelection {
  /** Names of fields, `a.b` for a member. */
  readonly fields: readonly string[];
  /** Names whose values are never stored, at any depth of a record. */
  readonly secrets: ReadonlySet<string>;
  /** Where a record holds a field that is not at its top level. */
  readonly places: Readonly<Record<string, RecordPath | undefined>>;
}

/** Called for each stored field: its name, whether `text` is its value or the JSON of it, and the text. */
type FieldVisitor = (name: string, kind: "text" | "json", text: string) => void;

/**
 * Extracts the selected fields from a platform record.
 * @returns the fields, and which of the selected ones the record contained at all
 */
export function pickFields(
  record: Readonly<Record<string, unknown>>,
  selection: FieldSelection,
): { readonly fields: SimFields; readonly mentioned: readonly string[] } {
  const fields = new Map<string, FieldValue>();
  const mentioned = visitFields(record, selection, (name, kind, text) => {
    fields.set(name, kind === "text" ? { text } : { json: text });
  });
  return { fields, mentioned };
}

/**
 * As `pickFields`, but visits one field after the other without intermediate objects, for lists of thousands.
 * @returns the fields that the record contained
 */
export function visitFields(
  record: Readonly<Record<string, unknown>>,
  selection: FieldSelection,
  visit: FieldVisitor,
): readonly string[] {
  const mentioned: string[] = [];
  const { secrets } = selection;
  for (const name of selection.fields) {
    const value = valueIn(record, name, selection);
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
      visitValue(`${name}.${member.toWellFormed()}`, inner, secrets, visit);
    }
  }
  return mentioned;
}

function isSecret(name: string, secrets: ReadonlySet<string>): boolean {
  return name.includes(".") ? name.split(".").some((part) => secrets.has(part)) : secrets.has(name);
}

/** A value as text: itself, or its JSON if it is not text. */
export function textOf(value: FieldValue): string {
  return "text" in value ? value.text : value.json;
}

/** A text as it is stored: with a line break or another control character it becomes JSON. */
export function valueOfText(text: string): FieldValue {
  return hasControl(text) ? { json: JSON.stringify(text) } : { text };
}

/** A value as inputs have it: as `textOf`, but a text is itself also where it is stored as JSON. */
export function inputTextOf(value: FieldValue): string {
  return "json" in value && value.json.startsWith('"') ? (JSON.parse(value.json) as string) : textOf(value);
}

/** The fields as one JSON object, with members in their objects again. */
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

/** A field of a document, or with a dot a member of one; the names of members may have dots, too. */
export function fieldIn(document: unknown, name: string): unknown {
  if (typeof document !== "object" || document === null) return undefined;
  if (Object.hasOwn(document, name)) return Reflect.get(document, name);
  const dot = name.indexOf(".");
  const outer = name.slice(0, dot);
  return dot < 0 || !Object.hasOwn(document, outer)
    ? undefined
    : fieldIn(Reflect.get(document, outer), name.slice(dot + 1));
}

/** Defines an own property, whatever its name: a tag may be called `__proto__`. */
function define(object: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * The JSON of a record without its secrets, for a digest that detects changes. Anything deeper than any meaningful
 * record is omitted.
 */
export function jsonWithoutSecrets(whole: unknown, secrets: ReadonlySet<string>): string {
  return JSON.stringify(withoutDepths(whole), (key, inner: unknown) => (secrets.has(key) ? undefined : inner));
}

function visitValue(name: string, mentioned: unknown, secrets: ReadonlySet<string>, visit: FieldVisitor): void {
  // A platform may echo one of our own secrets in a record.
  const value = typeof mentioned === "string" ? scrubSecrets(mentioned) : mentioned;
  if (typeof value === "string" && !hasControl(value)) return visit(name, "text", cut(value.toWellFormed()));
  const json = scrubSecretsInJson(jsonWithoutSecrets(value, secrets));
  return json.length > maxCharacters ? visit(name, "text", cut(json)) : visit(name, "json", json);
}

/** Never ends in half a surrogate pair: text stored as UTF-8 would otherwise change. */
function cut(text: string): string {
  if (text.length <= maxCharacters) return text;
  return `${text.slice(0, maxCharacters).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

const control = /[\p{Cc}\u2028\u2029]/u;

function hasControl(text: string): boolean {
  return control.test(text);
}

function valueIn(
  record: Readonly<Record<string, unknown>>,
  name: string,
  { places, secrets }: FieldSelection,
): unknown {
  const own = Object.hasOwn(record, name) ? record[name] : undefined;
  if (own !== undefined) return own;
  const place = Object.hasOwn(places, name) ? places[name] : undefined;
  if (place !== undefined) return place.some((step) => secrets.has(step)) ? undefined : textAt(record, place);
  return name.includes(".") ? findMember(record, name.split(".")) : undefined;
}

function findMember(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  return isPlainObject(value) && Object.hasOwn(value, name) ? findMember(value[name], rest) : undefined;
}

// The nesting depth of platform values. JSON can be parsed at any depth, but serialized only until the stack overflows:
// a record with thousands of levels would break every sync of the fleet.

/** Deeper than any meaningful record, and far from the depth at which serialization fails. */
export const maxLevels = 100;

/** Whether a value has more levels of objects and arrays than this; uses no recursion, so any depth is safe. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: object[] = isNested(value) ? [value] : [];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === levels) return true;
    level = level.flatMap((outer) => (Object.values(outer) as unknown[]).filter(isNested));
  }
  return false;
}

/** The value without anything deeper than `maxLevels`: arrays get null there, objects omit the member. */
export function withoutDepths<T>(value: T): T {
  return isDeeperThan(value, maxLevels) ? (cutAt(value, maxLevels) as T) : value;
}

function cutAt(value: unknown, levels: number): unknown {
  if (!isNested(value)) return value;
  if (levels === 0) return undefined;
  if (Array.isArray(value)) return value.map((inner: unknown) => cutAt(inner, levels - 1));
  const members = Object.entries(value).map(([name, inner]) => [name, cutAt(inner, levels - 1)] as const);
  return Object.fromEntries(members.filter(([, inner]) => inner !== undefined));
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
