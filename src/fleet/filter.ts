/**
 * The filter language: selects the SIMs for a command, a request, a schedule, an automation or an operation.
 *
 *   filter     := all { "or" all }
 *   all        := term { "and" term }
 *   term       := [ "not" ] "(" filter ")" | condition
 *   condition  := field "=" value | field "!=" value | field "^=" value | field "in" "(" value { "," value } ")"
 *              | field "exists" | field "not" "exists" | field ( "<" | "<=" | ">" | ">=" ) bound
 *   bound      := number | size, such as 500MB | date or time, such as 2026-01-01 | age, such as 30d "ago"
 *
 * Keywords are case-insensitive; a value with spaces, commas, quotes or brackets must be in double quotes. A field is
 * named as in the record, `tags.site` for a member of an object. `^=` tests how a value starts.
 *
 * A number or a size (B, KB, MB, GB, TB; decimal) is compared with values that are numbers, also as text. A date, a
 * time or an age (s, m, h, d, w) is compared with times: epoch milliseconds, or ISO 8601. Both are UTC without an
 * offset. Ages count from the instant of the evaluation, so `lastModifiedTime>30d ago` means later than 30 days ago.
 *
 * A SIM without the field, or with a value that cannot be compared, meets no comparison. It meets `!=`, `not exists`,
 * and any `not (…)` whose filter it does not match.
 */
import { parseTime, unitMs } from "#core/ago.ts";
import { SimfleetError } from "#core/errors.ts";

const comparisons = ["<", "<=", ">", ">="] as const;
type Comparison = (typeof comparisons)[number];

/** Bound of a comparison: a number (of bytes for a size), an instant, or an age. */
type Bound = { readonly number: number } | { readonly timeMs: number } | { readonly ageMs: number };

export interface Condition {
  readonly kind: "=" | "!=" | "^=" | "in" | "exists" | "not exists" | Comparison;
  readonly field: string;
  /** One value but for `in`, and none for `exists` and `not exists`. */
  readonly values: readonly string[];
  /** Bound of a comparison; its value is the bound as written. */
  readonly bound?: Bound;
}

/** No part of an `and` is an `and`, and no part of an `or` is an `or`. An `and` without parts holds for every SIM. */
export type Expression =
  | { readonly kind: "and" | "or"; readonly parts: readonly Expression[] }
  | { readonly kind: "not"; readonly part: Expression }
  | Condition;

export interface Filter {
  /** The filter as written; it parses to the same expression. */
  readonly text: string;
  readonly expression: Expression;
}

/** Matches every SIM. */
export const everySim: Filter = { text: "", expression: { kind: "and", parts: [] } };

const maxCharacters = 4_096;
const maxConditions = 100;
const maxDepth = 20;

/**
 * Parses a filter of at most 4,096 characters and 100 conditions, with parentheses nested up to 20 levels; several
 * texts are joined by `and`.
 * @throws SimfleetError USAGE with the position of the error, and what was expected there
 */
export function parseFilter(written: string | readonly string[]): Filter {
  const all = [written].flat();
  const count = { conditions: 0 };
  // Joined texts get parentheses where they have an `or`.
  const depth = all.length > 1 ? 1 : 0;
  const parts = all.map((text) => new Reader(text, count).whole(depth));
  const texts = parts.map(({ kind }, i) => (depth > 0 && kind === "or" ? `(${all[i]?.trim()})` : all[i]?.trim()));
  return { text: texts.join(" and "), expression: joined("and", parts) };
}

function joined(kind: "and" | "or", parts: readonly Expression[]): Expression {
  const flat = parts.flatMap((part) => ("parts" in part && part.kind === kind ? part.parts : [part]));
  const [only] = flat;
  return flat.length === 1 && only !== undefined ? only : { kind, parts: flat };
}

/**
 * Whether a SIM matches.
 * @param valueOf returns a field's value as text, undefined if the SIM has none
 * @param nowMs instant from which ages count, ms since the epoch
 */
export function matches(
  { expression }: Pick<Filter, "expression">,
  valueOf: (field: string) => string | undefined,
  nowMs: number,
): boolean {
  const holds = (one: Expression): boolean => {
    switch (one.kind) {
      case "and":
        return one.parts.every(holds);
      case "or":
        return one.parts.some(holds);
      case "not":
        return !holds(one.part);
      default:
        return meets(one, valueOf(one.field), nowMs);
    }
  };
  return holds(expression);
}

/** Whether a value meets a condition; undefined: the SIM has none. */
export function meets(condition: Condition, value: string | undefined, nowMs: number): boolean {
  const { kind, values } = condition;
  if (value === undefined) return kind === "!=" || kind === "not exists";
  switch (kind) {
    case "=":
    case "in":
      return values.includes(value);
    case "!=":
      return !values.includes(value);
    case "^=":
      return value.startsWith(values[0] ?? "");
    case "exists":
    case "not exists":
      return kind === "exists";
    default:
      return isInOrder(differenceFrom(condition, value, nowMs), kind);
  }
}

/** A difference that is not a number is in no order. */
function isInOrder(difference: number, operator: Comparison): boolean {
  if (operator === "<") return difference < 0;
  if (operator === "<=") return difference <= 0;
  return operator === ">" ? difference > 0 : difference >= 0;
}

const number = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const integer = /^-?\d+$/;

/** The value less the bound; NaN if they cannot be compared. */
function differenceFrom({ bound, values: [written = ""] }: Condition, value: string, nowMs: number): number {
  if (bound === undefined) return Number.NaN;
  if (!("number" in bound)) {
    const timeMs = number.test(value) ? Number(value) : parseTime(value, "Z");
    return timeMs - ("timeMs" in bound ? bound.timeMs : nowMs - bound.ageMs);
  }
  const difference = number.test(value) ? Number(value) - bound.number : Number.NaN;
  // SIM IDs have more digits than a number.
  const isRounded =
    difference === 0 && !Number.isSafeInteger(bound.number) && integer.test(value) && integer.test(written);
  return isRounded ? Number(BigInt(value) - BigInt(written)) : difference;
}

/** All conditions of an expression, from left to right. */
export function conditionsIn(expression: Expression): readonly Condition[] {
  if ("parts" in expression) return expression.parts.flatMap(conditionsIn);
  return expression.kind === "not" ? conditionsIn(expression.part) : [expression];
}

/** The parts that all have to hold. */
export function conjunctsOf({ expression }: Filter): readonly Expression[] {
  return expression.kind === "and" ? expression.parts : [expression];
}

/**
 * The first field of a filter that is neither known nor a member of a known field.
 * @param known names of fields; `tags` makes `tags.site` known as well
 */
export function unknownFieldOf({ expression }: Filter, known: readonly string[]): string | undefined {
  const isKnown = (field: string): boolean => known.some((name) => field === name || field.startsWith(`${name}.`));
  return conditionsIn(expression).find(({ field }) => !isKnown(field))?.field;
}

/**
 * Why a filter may match no SIM: a value that is known in another case, or a `*`, which stands for itself.
 * @param valuesOf the known values of a field
 */
export function hintForNoMatch(
  { expression }: Filter,
  valuesOf: (field: string) => Iterable<string>,
): string | undefined {
  for (const { kind, field, values } of conditionsIn(expression)) {
    if (kind !== "=" && kind !== "in") continue;
    for (const value of values) {
      const sameLetters = [...valuesOf(field)].filter((known) => known.toLowerCase() === value.toLowerCase());
      const [other] = sameLetters.includes(value) ? [] : sameLetters;
      if (other !== undefined) {
        return `Values are case-sensitive: no SIM has ${field}=${quoted(value)}. Did you mean ${field}=${quoted(other)}?`;
      }
      if (value.includes("*")) {
        const start = value.slice(0, value.indexOf("*"));
        const prefix = start === "" ? "" : ` ${field}^=${quoted(start)} selects by how the value begins.`;
        return `A filter has no wildcards: ${field}=${quoted(value)} matches only SIMs whose ${field} contains the * itself.${prefix}`;
      }
    }
  }
  return undefined;
}

const bareValue = /^[^\s,()="!]+$/;

function quoted(value: string): string {
  return bareValue.test(value) ? value : `"${value.replace(/["\\]/g, "\\$&")}"`;
}

/** Bytes of each unit of an amount of data. */
export const byteUnits: ReadonlyMap<string, number> = new Map(
  Object.entries({ B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 }),
);

/** Parses one text from left to right. */
class Reader {
  readonly #text: string;
  readonly #count: { conditions: number };
  #at = 0;

  constructor(text: string, count: { conditions: number }) {
    this.#text = text;
    this.#count = count;
    if (text.length <= maxCharacters) return;
    this.#at = maxCharacters;
    throw this.#fault(`is longer than ${maxCharacters} characters`);
  }

  whole(depth: number): Expression {
    const expression = this.#any(depth);
    this.#take(/\s*/y);
    if (this.#at < this.#text.length) throw this.#fault("expected `and` or `or`");
    return expression;
  }

  #any(depth: number): Expression {
    const parts = [this.#all(depth)];
    while (this.#take(/\s*or(?=[\s(]|$)/iy) !== undefined) parts.push(this.#all(depth));
    return joined("or", parts);
  }

  #all(depth: number): Expression {
    const parts = [this.#term(depth)];
    while (this.#take(/\s*and(?=[\s(]|$)/iy) !== undefined) parts.push(this.#term(depth));
    return joined("and", parts);
  }

  #term(depth: number): Expression {
    this.#take(/\s*/y);
    // A field can be called `not`.
    const isNegated = this.#take(/not\s*(?=\()/iy) !== undefined;
    if (this.#text[this.#at] !== "(") return this.#condition();
    if (depth === maxDepth) throw this.#fault(`expected at most ${maxDepth} levels of parentheses`);
    this.#at += 1;
    const part = this.#any(depth + 1);
    if (this.#take(/\s*\)/y) === undefined) throw this.#fault("expected `and`, `or` or )");
    return isNegated ? { kind: "not", part } : part;
  }

  #condition(): Condition {
    if (this.#count.conditions === maxConditions) throw this.#fault(`expected at most ${maxConditions} conditions`);
    this.#count.conditions += 1;
    const start = this.#at;
    const field = this.#take(/[A-Za-z_][A-Za-z0-9_-]*(?:\.(?:[^\s=!,()"<>^]|\^(?!=))+)?/y);
    if (field === undefined) throw this.#fault("expected a field name or (");
    const operator = this.#take(/\s*(?:[!^<>]=|[=<>]|\s(?:in(?=[\s(])|exists\b|not\s+exists\b))\s*/iy)
      ?.trim()
      .toLowerCase()
      .replace(/\s+/, " ") as Condition["kind"] | undefined;
    if (operator === undefined) {
      // The name of a member can contain the sign of an operator that does not exist, as in `tags.site~ber`.
      const sign = field.search(/[~*^]/);
      if (sign > 0) this.#at = start + sign;
      const orOpening = field.toLowerCase() === "not" ? "( or " : "";
      throw this.#fault(`expected ${orOpening}an operator (=, !=, <, <=, >, >=, ^=, in, exists or not exists)`);
    }
    if (operator === "exists" || operator === "not exists") return { kind: operator, field, values: [] };
    if ((comparisons as readonly string[]).includes(operator)) return { kind: operator, field, ...this.#bound() };
    return { kind: operator, field, values: operator === "in" ? this.#values() : [this.#value()] };
  }

  #bound(): Pick<Condition, "values" | "bound"> {
    const start = this.#at;
    const written = this.#value();
    const isBare = this.#text[start] !== '"';
    const [, amount, unit = "", ago = isBare ? this.#take(/\s+ago(?=[\s)]|$)/iy) : undefined] =
      /^(-?\d+(?:\.\d+)?)([A-Za-z]*)(\s+ago)?$/i.exec(written) ?? [];
    if (amount === undefined) {
      const timeMs = parseTime(written, "Z");
      if (!Number.isNaN(timeMs)) return { values: [written], bound: { timeMs } };
      this.#at = start;
      throw this.#fault(
        "expected a number, a size such as 500MB, a date or time such as 2026-01-01, or an age such as 30d ago",
      );
    }
    if (ago === undefined && unit === "") return { values: [written], bound: { number: Number(amount) } };
    const [kind, units] = ago === undefined ? (["a size", byteUnits] as const) : (["an age", unitMs] as const);
    const scale = units.get(unit);
    if (scale === undefined) {
      if (ago === undefined && unitMs.has(unit)) throw this.#fault(`expected \`ago\` after the age ${written}`);
      this.#at = start + (isBare ? 0 : 1) + amount.length;
      throw this.#fault(`expected a unit of ${kind} (${[...units.keys()].join(", ")})`);
    }
    const scaled = Math.round(Number(amount) * scale);
    return { values: [written], bound: ago === undefined ? { number: scaled } : { ageMs: scaled } };
  }

  #values(): string[] {
    if (this.#take(/\(\s*/y) === undefined) throw this.#fault("expected (");
    const values = [this.#value()];
    while (this.#take(/\s*,\s*/y) !== undefined) values.push(this.#value());
    if (this.#take(/\s*\)/y) === undefined) throw this.#fault("expected , or )");
    return values;
  }

  #value(): string {
    const inQuotes = this.#take(/"(?:[^"\\]|\\.)*"/y);
    if (inQuotes !== undefined) return inQuotes.slice(1, -1).replace(/\\(.)/g, "$1");
    const bare = this.#take(/[^\s,()="!]+/y);
    if (bare === undefined) throw this.#fault("expected a value (write an empty one as two double quotes)");
    return bare;
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #fault(what: string): SimfleetError {
    const rest = this.#text.slice(this.#at, this.#at + 40);
    const place = rest.trim() === "" ? "at its end" : `at ${JSON.stringify(rest)}`;
    const character = Array.from(this.#text.slice(0, this.#at)).length + 1;
    return new SimfleetError(
      "USAGE",
      `The filter ${JSON.stringify(this.#text.slice(0, 200))} cannot be read: ${what} ${place} (character ${character}). An example: speedClass=s1.fast and (tags.site=berlin or groupId exists)`,
    );
  }
}
