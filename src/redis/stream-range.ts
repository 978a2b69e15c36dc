/** Ranges of a Redis stream. */

/** The end of a range before an entry. Redis does not look before `0-0`, which no entry has. */
export function olderThan(id: string): string {
  return /^0+-0+$/.test(id) ? "0-0" : `(${id}`;
}
