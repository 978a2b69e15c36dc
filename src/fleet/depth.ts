/**
 * How deep a value of the platform is nested. JSON is read at any depth, but written only until the stack is full: a
 * record of some thousand levels would stop whatever reads the fleet.
 */

/** Deeper than any record that means something, and far from where writing JSON fails. */
export const mostLevels = 100;

/** Whether a value holds more levels of objects and lists than this; needs no stack, however deep it is. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: object[] = isNested(value) ? [value] : [];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === levels) return true;
    level = level.flatMap((outer) => (Object.values(outer) as unknown[]).filter(isNested));
  }
  return false;
}

/** The value without what lies deeper than `mostLevels`: lists have null there, objects leave the member out. */
export function withoutDepths<T>(value: T): T {
  return isDeeperThan(value, mostLevels) ? (cutAt(value, mostLevels) as T) : value;
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
