/**
 * The nesting depth of platform values. JSON can be parsed at any depth, but serialized only until the stack overflows:
 * a record with thousands of levels would break every sync of the fleet.
 */

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
