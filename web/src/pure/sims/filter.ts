/**
 * The filters of the inventory as conditions, for the filter builder, and back as text: docs/inventory.md describes the
 * language. The server decides what a filter means; a text that is not understood here can still be a filter.
 */

export const operators = [
  { value: "=", text: "is" },
  { value: "!=", text: "is not" },
  { value: "in", text: "is one of" },
  { value: "^=", text: "begins with" },
  { value: "<", text: "is less than, or before" },
  { value: ">", text: "is more than, or after" },
  { value: "exists", text: "has a value" },
  { value: "not exists", text: "has no value" },
] as const;
export type Operator = (typeof operators)[number]["value"];

export interface Condition {
  readonly field: string;
  readonly operator: Operator;
  /** None for `exists` and `not exists`, one unless `in`. */
  readonly values: readonly string[];
}

/** A filter for the SIMs whose field has this value; quoted if necessary. */
export function equals(field: string, value: string): string {
  return textOf({ field, operator: "=", values: [value] });
}

export function textOf({ field, operator, values }: Condition): string {
  if (operator === "in") return `${field} in (${values.map(quoted).join(", ")})`;
  return values.length === 0 ? `${field} ${operator}` : `${field}${operator}${quoted(values[0] ?? "")}`;
}

function quoted(value: string): string {
  return /^[\w.:+-]+$/.test(value) ? value : `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** A filter with one more condition. */
export function narrowed(where: string, added: Condition): string {
  const whole = /\bor\b/i.test(where) ? `(${where})` : where;
  return [whole, textOf(added)].filter(Boolean).join(" and ");
}

/** A condition as a user has written it so far; undefined while something is missing. */
export function conditionFrom(draft: { field: string; operator: Operator; value: string }): Condition | undefined {
  const field = draft.field.trim();
  const written = draft.value.trim();
  const { operator } = draft;
  if (!/^[A-Za-z_][\w-]*(?:\.[^\s=!<>,()"]+)?$/.test(field)) return undefined;
  if (operator.includes("exists")) return { field, operator, values: [] };
  if (written === "") return undefined;
  const values = operator === "in" ? written.split(",").map((one) => one.trim()) : [written];
  return { field, operator, values: values.filter((one) => one !== "") };
}
