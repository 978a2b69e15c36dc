/**
 * The values of an operation's inputs. A value comes as the text of a cell or an option, and is kept as canonical text,
 * so that it can be stored, compared with the inventory and shown; `typedValue` turns it into JSON for a request.
 */
import { parseTime } from "#core/ago.ts";
import { jsonIn } from "#core/json.ts";
import type { Json } from "./template.ts";

export const inputTypes = ["text", "integer", "boolean", "time", "list"] as const;
export type InputType = (typeof inputTypes)[number];

/** An input of an operation: a column of a file, `--set` on the command line, a field of a form. */
export interface InputField {
  readonly name: string;
  readonly type: InputType;
  readonly isRequired: boolean;
  /** The valid values in words, for messages and forms. */
  readonly description?: string | undefined;
  /** A regular expression that the whole value matches. */
  readonly pattern?: string | undefined;
  readonly values?: readonly string[] | undefined;
  /** In characters; `maxInputCharacters` if absent. */
  readonly maxLength?: number | undefined;
  /** Sealed in Redis; in no log, error or results file. */
  readonly isSecret?: boolean | undefined;
  /** The value becomes a segment of the path. */
  readonly isInPath?: boolean | undefined;
  /** Field of the inventory that supplies the value where a row has none. */
  readonly inventoryField?: string | undefined;
}

/** Longest value of an input without `maxLength`, in characters. */
const maxInputCharacters = 1_000;

/**
 * Validates a value.
 * @param text trimmed; empty if there is none
 * @returns the canonical text, empty for an optional input without a value; undefined if it is missing or invalid
 */
export function readInput(field: InputField, text: string): string | undefined {
  if (text === "") return field.isRequired ? undefined : "";
  const value = canonical(field, text);
  return value !== undefined && field.isInPath === true && !isPathSegment(value) ? undefined : value;
}

/** The valid values in words: `a whole number`, `one of doNothing, suspend`. */
export function ruleOf({ type, description, pattern, values, maxLength, isInPath }: InputField): string {
  const path = isInPath === true ? ", without / \\ and %, and not only dots" : "";
  if (description !== undefined) return `${description}${path}`;
  const words = values === undefined ? typeRules[type] : `one of ${values.join(", ")}`;
  const shape =
    pattern === undefined || values !== undefined
      ? ""
      : `${type === "list" ? ", each of which" : " that"} matches ${pattern}`;
  const length = maxLength === undefined ? "" : `, at most ${maxLength} characters`;
  return `${words}${shape}${length}${path}`;
}

const typeRules: Readonly<Record<InputType, string>> = {
  text: "text",
  integer: "a whole number",
  boolean: "true or false",
  time: "a time with its zone such as 2027-01-31T09:00:00+09:00, a date in UTC such as 20270131, or milliseconds since 1970",
  list: "items separated by ;",
};

/**
 * Whether a text may become a path segment, percent-encoded. A server may decode it before it splits the path, so
 * nothing that separates or climbs is accepted, in any encoding.
 */
export function isPathSegment(text: string): boolean {
  return text !== "" && text.isWellFormed() && !/[/\\%\p{Cc}]/u.test(text) && !/^\.+$/.test(text);
}

/** A canonical text as the value of a request. */
export function typedValue({ type }: Pick<InputField, "type">, value: string): Json {
  switch (type) {
    case "integer":
    case "time":
      return Number(value);
    case "boolean":
      return value === "true";
    case "list":
      return JSON.parse(value) as string[];
    case "text":
      return value;
  }
}

function canonical(field: InputField, text: string): string | undefined {
  if (text.length > (field.maxLength ?? maxInputCharacters) || !text.isWellFormed()) return undefined;
  switch (field.type) {
    case "integer":
      return /^-?(?:0|[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text)) && isAllowed(field, text)
        ? String(Number(text))
        : undefined;
    case "boolean":
      return /^(?:true|false)$/i.test(text) ? text.toLowerCase() : undefined;
    case "time":
      return parseInstant(text);
    case "list": {
      const items = parseItems(text);
      return items !== undefined && items.every((item) => isAllowed(field, item)) ? JSON.stringify(items) : undefined;
    }
    case "text":
      return !hasControl(text) && isAllowed(field, text) ? text : undefined;
  }
}

function isAllowed({ values, pattern }: InputField, text: string): boolean {
  if (values !== undefined) return values.includes(text);
  if (pattern === undefined) return true;
  let expression = expressions.get(pattern);
  if (expression === undefined) expressions.set(pattern, (expression = new RegExp(`^(?:${pattern})$`, "u")));
  return expression.test(text);
}

/** The patterns of the operations of the platform definition, compiled once: a plan has up to two million rows. */
const expressions = new Map<string, RegExp>();

/** Line breaks are valid in a message; other control characters are not. */
function hasControl(text: string): boolean {
  return /[^\P{Cc}\n]/u.test(text);
}

/** Milliseconds since the epoch. A time without its zone is rejected: it would mean another instant on each machine. */
function parseInstant(text: string): string | undefined {
  if (/^\d{12,14}$/.test(text)) return String(Number(text));
  // The platform's own form of a date, which is in UTC (interface, section 8, rule 6).
  const time = text.replace(/^(\d{4})(\d\d)(\d\d)$/, "$1-$2-$3T00:00Z");
  const atMs = /T.*(?:Z|[+-]\d\d:\d\d)$/.test(time) ? parseTime(time) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : String(atMs);
}

/** `a;b` or the JSON of a list of texts, as the inventory shows one. */
function parseItems(text: string): readonly string[] | undefined {
  if (!text.startsWith("["))
    return text
      .split(";")
      .map((item) => item.trim())
      .filter((item) => item !== "");
  const items = jsonIn(text);
  return Array.isArray(items) && items.every((item) => typeof item === "string") ? items : undefined;
}
