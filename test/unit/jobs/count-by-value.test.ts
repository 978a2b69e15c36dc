/** Exact counts of SIMs by the value of a field. */
import { expect, test } from "vitest";
import { everySim } from "#fleet/filter.ts";
import { countByValue } from "#jobs/inventory/sims.ts";
import { KnownSim } from "#jobs/inventory/records/sim-record.ts";
import type { FoundSim } from "#jobs/inventory/store/inventory.ts";

function inventoryOf(values: readonly (string | undefined)[]) {
  const found = values.map((value, n): FoundSim => ({
    key: `sim-${n}`,
    sim: new KnownSim(`${n} sync 0 0 -\n${value === undefined ? "" : `site=${value}`}`),
  }));
  return {
    async *scan() {
      yield found.slice(0, 2);
      yield await Promise.resolve(found.slice(2));
    },
    // The index does not decide: records are read.
    counts: () => Promise.resolve(undefined),
  };
}

const query = { profile: "default", keyColumn: "simId", filter: everySim, presence: "listed" } as const;

test("SIMs are counted by value, the most frequent first, with those that have none", async () => {
  const counted = await countByValue(inventoryOf(["b", "a", undefined, "c", "c"]), { ...query, field: "site" });
  expect(counted).toEqual({
    total: 5,
    values: [
      { value: "c", count: 2 },
      { value: null, count: 1 },
      { value: "a", count: 1 },
      { value: "b", count: 1 },
    ],
  });
});

test("without a field only the total is counted", async () => {
  expect(await countByValue(inventoryOf(["a", undefined]), query)).toEqual({ total: 2, values: [] });
});

test("a field with more than 10,000 values is refused", async () => {
  const values = Array.from({ length: 10_001 }, (_, n) => String(n));
  await expect(countByValue(inventoryOf(values), { ...query, field: "site" })).rejects.toThrow(
    "site has more than 10,000 values: count by another field, or narrow the filter",
  );
});
