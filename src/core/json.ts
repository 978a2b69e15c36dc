/** The value of a JSON text; undefined for another text, since an error would quote a piece of it. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value is a JSON object: neither a list nor null. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value below keys of mappings and indices of lists; undefined where there is none. */
export function valueIn(tree: unknown, keys: readonly string[]): unknown {
  let value = tree;
  for (const key of keys) {
    const isWithin = typeof value === "object" && value !== null && Object.hasOwn(value, key);
    value = isWithin ? (value as Record<string, unknown>)[key] : undefined;
  }
  return value;
}
