/** The inventory filters that the dashboard creates itself: docs/inventory.md describes the language. */

/** A filter for the SIMs whose field has this value; quoted if necessary. */
export function equals(field: string, value: string): string {
  const isPlain = /^[\w.:+-]+$/.test(value);
  return `${field}=${isPlain ? value : `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`}`;
}
