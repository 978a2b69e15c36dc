import fc from "fast-check";
import { expect, it } from "vitest";
import { KeyIndex } from "#intake/key-index.ts";

it("a key index answers like a Map of strings", () => {
  const keys = fc.array(fc.stringMatching(/^[A-Za-z0-9_-]{1,3}$/), { maxLength: 200 });
  fc.assert(
    fc.property(keys, (all) => {
      const index = new KeyIndex();
      const map = new Map<string, number>();
      for (const [row, key] of all.entries()) {
        if (!map.has(key)) map.set(key, row);
        expect(index.firstRowOf(key, row)).toBe(map.get(key));
      }
    }),
  );
});

it("a key index keeps its answers while it grows beyond blocks and tables", () => {
  const index = new KeyIndex();
  const keyOf = (row: number) => `${row}-${"k".repeat(row % 50)}`;
  for (let row = 0; row < 100_000; row += 1) index.firstRowOf(keyOf(row), row);
  for (let row = 0; row < 100_000; row += 1) {
    if (index.firstRowOf(keyOf(row), -1) !== row) throw new Error(`row ${row} was lost`);
  }
});
