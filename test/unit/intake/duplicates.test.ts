import fc from "fast-check";
import { expect, it } from "vitest";
import { Duplicates } from "#intake/duplicates.ts";

function added(duplicates: Duplicates, keys: readonly string[]): void {
  const problem = { code: "key-empty", column: "simId", message: "" } as const;
  const rows = keys.map((key, line) => ({ line, key, inputs: [], problem: key === "" ? problem : undefined }));
  duplicates.add(rows, ({ key }) => key);
}

it("the first row of a SIM is found as by comparing texts", () => {
  const keys = fc.array(fc.stringMatching(/^[A-Za-z0-9_-]{1,3}$/), { maxLength: 200 });
  fc.assert(
    fc.property(fc.array(keys), (batches) => {
      const duplicates = new Duplicates();
      for (const batch of batches) added(duplicates, batch);
      const all = batches.flat();
      expect(all.map((_, row) => duplicates.firstOf(row))).toEqual(all.map((key) => all.indexOf(key)));
    }),
  );
});

it("the first row of a SIM is still found after many others", () => {
  const duplicates = new Duplicates();
  const keys = Array.from({ length: 100_000 }, (_, row) => (row % 7 === 0 ? "" : `${row}-${"k".repeat(row % 50)}`));
  const twice = [...keys, ...keys];
  for (let at = 0; at < twice.length; at += 300) added(duplicates, twice.slice(at, at + 300));
  const lost = keys.findIndex(
    (key, row) => duplicates.firstOf(keys.length + row) !== (key === "" ? keys.length : 0) + row,
  );
  expect(lost).toBe(-1);
});
