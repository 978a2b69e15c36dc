/** Filters of the inventory, as far as the dashboard writes them by itself: docs/inventory.md has the language. */

/** The SIMs whose field has this value; quoted where the value would be read as something else. */
export function equals(field: string, value: string): string {
  const isPlain = /^[\w.:+-]+$/.test(value);
  return `${field}=${isPlain ? value : `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`}`;
}
