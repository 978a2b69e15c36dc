/** Replies of Redis as values. */

/** Converts the flat field-value list that scripts return. */
export function fromPairs(flat: readonly string[]): Record<string, string> {
  const hash: Record<string, string> = {};
  for (let at = 0; at < flat.length; at += 2) hash[flat[at] ?? ""] = flat[at + 1] ?? "";
  return hash;
}

/** A hash by row, with its values decoded. */
export function mapValues<T>(hash: Readonly<Record<string, string>>, decode: (text: string) => T): Map<number, T> {
  return new Map(Object.entries(hash).map(([place, text]) => [Number(place), decode(text)]));
}

/** ioredis returns a transaction's failures as values; this throws the first one. */
export function failOnAny(replies: [Error | null, unknown][] | null): void {
  const failed = replies === null ? new Error("the transaction was refused") : replies.find(([error]) => error)?.[0];
  if (failed) throw failed;
}
