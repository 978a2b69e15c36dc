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
