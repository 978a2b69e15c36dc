/**
 * The filter language: selects the SIMs for a command, a schedule or an automation. Conditions are joined by `and`,
 * each on one field; there is no `or` (see `in`) and there are no parentheses for grouping, so that filters are easy to
 * read and an index can evaluate them.
 *
 *   condition := field "=" value | field "!=" value | field "in" "(" value { "," value } ")"
 *              | field "exists" | field "not" "exists"
 *
 * Keywords are case-insensitive; a value with spaces, commas, quotes or brackets must be in double quotes. A field is
 * named as in the record, `tags.site` for a member of an object. `!=` and `not exists` hold for a SIM without the
 * field.
 */
import { SimfleetError } from "#core/errors.ts";

export type Condition =
  | { readonly kind: "equals" | "differs"; readonly field: string; readonly value: string }
  | { readonly kind: "in"; readonly field: string; readonly values: readonly string[] }
  | { readonly kind: "exists" | "absent"; readonly field: string };

export interface Filter {
  /** The filter in the language, conditions in order. */
  readonly text: string;
  /** All must hold; none: every SIM. */
  readonly conditions: readonly Condition[];
}

/** Matches every SIM. */
export const everySim: Filter = { text: "", conditions: [] };

const maxCharacters = 4_096;

/**
 * Parses a filter; several texts are joined by `and`.
 * @throws SimfleetError USAGE that quotes the position of the error
 */
export function parseFilter(texts: string | readonly string[]): Filter {
  const conditions = [texts].flat().flatMap((text) => new Reader(text).conditions());
  return { text: conditions.map(textOf).join(" and "), conditions };
}

/** Whether a SIM matches; `valueOf` returns a field's value as text, undefined if the SIM has none. */
export function matches(filter: Filter, valueOf: (field: string) => string | undefined): boolean {
  return filter.conditions.every((condition) => {
    const value = valueOf(condition.field);
    switch (condition.kind) {
      case "equals":
        return value === condition.value;
      case "differs":
        return value !== condition.value;
      case "in":
        return value !== undefined && condition.values.includes(value);
      case "exists":
        return value !== undefined;
      case "absent":
        return value === undefined;
    }
  });
}

/**
 * The first field of a filter that is neither known nor a member of a known field.
 * @param known names of fields; `tags` makes `tags.site` known as well
 */
export function unknownFieldOf(filter: Filter, known: readonly string[]): string | undefined {
  const isKnown = (field: string): boolean => known.some((name) => field === name || field.startsWith(`${name}.`));
  return filter.conditions.map(({ field }) => field).find((field) => !isKnown(field));
}

/**
 * Why a filter may match no SIM: a value that is known in another case, or a `*`, which stands for itself.
 * @param valuesOf the known values of a field
 */
export function hintForNoMatch(filter: Filter, valuesOf: (field: string) => Iterable<string>): string | undefined {
  for (const condition of filter.conditions) {
    if (condition.kind !== "equals" && condition.kind !== "in") continue;
    const { field } = condition;
    for (const value of condition.kind === "in" ? condition.values : [condition.value]) {
      const sameLetters = [...valuesOf(field)].filter((known) => known.toLowerCase() === value.toLowerCase());
      const [other] = sameLetters.includes(value) ? [] : sameLetters;
      if (other !== undefined) {
        return `Values are case-sensitive: no SIM has ${field}=${quoted(value)}. Did you mean ${field}=${quoted(other)}?`;
      }
      if (value.includes("*")) {
        return `A filter has no wildcards: ${field}=${quoted(value)} matches only SIMs whose ${field} contains the * itself.`;
      }
    }
  }
  return undefined;
}

function textOf(condition: Condition): string {
  switch (condition.kind) {
    case "equals":
      return `${condition.field}=${quoted(condition.value)}`;
    case "differs":
      return `${condition.field}!=${quoted(condition.value)}`;
    case "in":
      return `${condition.field} in (${condition.values.map(quoted).join(", ")})`;
    case "exists":
      return `${condition.field} exists`;
    case "absent":
      return `${condition.field} not exists`;
  }
}

const bareValue = /^[^\s,()="!]+$/;

function quoted(value: string): string {
  return bareValue.test(value) ? value : `"${value.replace(/["\\]/g, "\\$&")}"`;
}

/** Parses one text from left to right. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    if (text.length > maxCharacters) throw this.#fault(`is longer than ${maxCharacters} characters`);
  }

  conditions(): Condition[] {
    const conditions = [this.#condition()];
    while (this.#take(/\s*/y) !== undefined && this.#at < this.#text.length) {
      if (this.#take(/and(?=\s|$)/iy) === undefined) throw this.#fault("expected `and`");
      conditions.push(this.#condition());
    }
    return conditions;
  }

  #condition(): Condition {
    this.#take(/\s*/y);
    const start = this.#at;
    const field = this.#take(/[A-Za-z_][A-Za-z0-9_-]*(?:\.[^\s=!,()"]+)?/y);
    if (field === undefined) throw this.#fault("expected a field name");
    const operator = this.#take(/\s*(?:!=|=|\s(?:in(?=[\s(])|exists\b|not\s+exists\b))\s*/iy)
      ?.trim()
      .toLowerCase();
    switch (operator) {
      case "=":
        return { kind: "equals", field, value: this.#value() };
      case "!=":
        return { kind: "differs", field, value: this.#value() };
      case "in":
        return { kind: "in", field, values: this.#values() };
      case "exists":
        return { kind: "exists", field };
      case undefined: {
        // The name of a member can contain the sign of an operator that does not exist, as in `tags.site~ber`.
        const sign = field.search(/[~<>*^]/);
        if (sign > 0) this.#at = start + sign;
        throw this.#fault("expected an operator (=, !=, in, exists or not exists)");
      }
      default:
        return { kind: "absent", field };
    }
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
    return new SimfleetError(
      "USAGE",
      `The filter ${JSON.stringify(this.#text.slice(0, 200))} cannot be read: ${what} ${place}. An example: speedClass=s1.fast and tags.site in (berlin, osaka)`,
    );
  }
}
