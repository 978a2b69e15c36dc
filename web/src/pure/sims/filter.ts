/**
 * The filters of the inventory as conditions, for the filter builder, and back as text: docs/inventory.md describes the
 * language. The server decides what a filter means; a text that is not understood here can still be a filter.
 */

export const operators = ["=", "!=", "in", "exists", "not exists"] as const;
export type Operator = (typeof operators)[number];

export interface Condition {
  readonly field: string;
  readonly operator: Operator;
  /** None for `exists` and `not exists`, one for `=` and `!=`. */
  readonly values: readonly string[];
}

/** A filter for the SIMs whose field has this value; quoted if necessary. */
export function equals(field: string, value: string): string {
  return textOf([{ field, operator: "=", values: [value] }]);
}

export function textOf(conditions: readonly Condition[]): string {
  return conditions
    .map(({ field, operator, values }) => {
      if (operator === "in") return `${field} in (${values.map(quoted).join(", ")})`;
      return values.length === 0 ? `${field} ${operator}` : `${field}${operator}${quoted(values[0] ?? "")}`;
    })
    .join(" and ");
}

function quoted(value: string): string {
  return /^[\w.:+-]+$/.test(value) ? value : `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

const value = String.raw`"(?:[^"\\]|\\.)*"|[^\s,()="!]+`;
const condition = new RegExp(
  String.raw`^\s*([A-Za-z_][\w-]*(?:\.[^\s=!,()"]+)?)(?:\s*(!?=)\s*(${value})|\s+in\s*\(\s*((?:${value})(?:\s*,\s*(?:${value}))*)\s*\)|\s+((?:not\s+)?exists)(?=\s|$))\s*`,
  "i",
);

/** The conditions of a filter; undefined if it is not understood. */
export function conditionsOf(text: string): Condition[] | undefined {
  const conditions: Condition[] = [];
  let rest = text.trim();
  while (rest !== "") {
    const found = condition.exec(rest);
    if (found === null) return undefined;
    const [all, field = "", sign, single, several, existence] = found;
    if (sign !== undefined) conditions.push({ field, operator: sign as "=" | "!=", values: [unquoted(single ?? "")] });
    else if (several !== undefined) {
      const values = [...several.matchAll(new RegExp(value, "g"))].map(([one]) => unquoted(one));
      conditions.push({ field, operator: "in", values });
    } else {
      conditions.push({ field, operator: /^not/i.test(existence ?? "") ? "not exists" : "exists", values: [] });
    }
    rest = rest.slice(all.length);
    if (rest === "") break;
    const and = /^and\s+(?=\S)/i.exec(rest);
    if (and === null) return undefined;
    rest = rest.slice(and[0].length);
  }
  return conditions;
}

function unquoted(written: string): string {
  return written.startsWith('"') ? written.slice(1, -1).replaceAll(/\\(.)/g, "$1") : written;
}

/** A condition as a person has written it so far; undefined while something is missing. */
export function conditionFrom(draft: { field: string; operator: Operator; value: string }): Condition | undefined {
  const field = draft.field.trim();
  const written = draft.value.trim();
  const { operator } = draft;
  if (!/^[A-Za-z_][\w-]*(?:\.[^\s=!,()"]+)?$/.test(field)) return undefined;
  if (operator === "exists" || operator === "not exists") return { field, operator, values: [] };
  if (written === "") return undefined;
  const values = operator === "in" ? written.split(",").map((one) => one.trim()) : [written];
  return { field, operator, values: values.filter((one) => one !== "") };
}
