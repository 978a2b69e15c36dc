/**
 * Templates of an operation: text with placeholders in braces (`{groupId}`), alone or inside a JSON value of any shape.
 * A placeholder without a value makes its text undefined: the member of an object that holds it is left out.
 */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** The value of a placeholder as text; undefined if it has none. */
export type ValueOf = (name: string) => string | undefined;

/** Splits a template into its texts, at even places, and the names of the placeholders between them. */
const placeholder = /\{([A-Za-z][A-Za-z0-9_]*(?:\.[^{}]+)?)\}/;

/** Placeholder of an undo: `before.` and a field, such as `tags.{tagName}`, which is the first group; or an input. */
export const undoPlaceholder = /\{before\.((?:[^{}]|\{\w+\})+)\}|\{(\w+)\}/g;

/** The names of all placeholders in a template. */
export function placeholdersIn(template: Json): ReadonlySet<string> {
  return new Set([...textsIn(template)].flatMap((text) => text.split(placeholder).filter((_, i) => i % 2 === 1)));
}

/** Fills a text; undefined if a placeholder has no value. */
export function fillText(template: string, valueOf: ValueOf): string | undefined {
  const parts = template.split(placeholder);
  let text = parts[0] ?? "";
  for (let i = 1; i < parts.length; i += 2) {
    const value = valueOf(parts[i] ?? "");
    if (value === undefined) return undefined;
    text += value + (parts[i + 1] ?? "");
  }
  return text;
}

/**
 * Fills a JSON value.
 * @param typedOf the value of a placeholder that stands alone, with its type
 */
export function fillJson(
  template: Json,
  valueOf: ValueOf,
  typedOf: (name: string) => Json | undefined,
): Json | undefined {
  if (typeof template === "string") {
    const alone = nameAlone(template);
    return alone === undefined ? fillText(template, valueOf) : typedOf(alone);
  }
  if (typeof template !== "object" || template === null) return template;
  if (isList(template)) {
    return template.flatMap((item): readonly Json[] => {
      const filled = fillJson(item, valueOf, typedOf);
      return filled === undefined ? [] : [filled];
    });
  }
  const members: [string, Json][] = [];
  for (const [name, value] of Object.entries(template)) {
    const filled = fillJson(value, valueOf, typedOf);
    if (filled !== undefined) members.push([name, filled]);
  }
  return Object.fromEntries(members);
}

/** The name of a placeholder that is a whole text. */
export function nameAlone(template: string): string | undefined {
  const parts = template.split(placeholder);
  return parts.length === 3 && parts[0] === "" && parts[2] === "" ? parts[1] : undefined;
}

function* textsIn(template: Json): Generator<string> {
  if (typeof template === "string") yield template;
  else if (typeof template === "object" && template !== null) {
    for (const inner of Object.values(template)) yield* textsIn(inner);
  }
}

/** `Array.isArray` narrows a readonly list to any[]. */
function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
