/** The closest known name, as ` Did you mean X?`; empty if none is close. */
export function suggestion(written: string, known: Iterable<string>): string {
  const max = Math.max(1, Math.min(3, Math.floor(written.length / 3)));
  let best: { name: string; edits: number } | undefined;
  for (const name of known) {
    const edits = editsBetween(written.toLowerCase(), name.toLowerCase());
    if (edits <= max && (!best || edits < best.edits)) best = { name, edits };
  }
  return best ? ` Did you mean ${best.name}?` : "";
}

/** Insertions, deletions, replacements and swaps of adjacent characters. */
function editsBetween(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let edits = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        edits = Math.min(edits, (before[j - 2] ?? 0) + 1);
      }
      next.push(edits);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
