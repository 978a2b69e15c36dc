import fc from "fast-check";
import { expect, it } from "vitest";
import { Duplicates } from "#intake/duplicates.ts";

it("the first row of a SIM is found as by a Map of strings", () => {
  const keys = fc.array(fc.stringMatching(/^[A-Za-z0-9_-]{1,3}$/), { maxLength: 200 });
  fc.assert(
    fc.property(keys, (all) => {
      const duplicates = new Duplicates();
      const map = new Map<string, number>();
      for (const [row, key] of all.entries()) {
        if (!map.has(key)) map.set(key, row);
        expect(duplicates.add(row, key, [])).toBe(map.get(key));
      }
    }),
  );
});

it("the first row of a SIM is still found after many others", () => {
  const duplicates = new Duplicates();
  const keyOf = (row: number) => `${row}-${"k".repeat(row % 50)}`;
  const count = 100_000;
  for (let row = 0; row < count; row += 1) {
    if (row % 7 === 0) duplicates.addInvalid(row);
    else duplicates.add(row, keyOf(row), []);
  }
  for (let row = 0; row < count; row += 1) {
    if (row % 7 !== 0 && duplicates.add(row, keyOf(row), []) !== row) throw new Error(`row ${row} was lost`);
  }
});
