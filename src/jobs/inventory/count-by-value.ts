/** Counts SIMs by the value of a field: exact, from the records, in bounded memory. */
import { SimfleetError } from "#core/errors.ts";
import type { Filter } from "#fleet/filter.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import type { SimCounts } from "./contract.ts";
import { fieldTextOf, type Inventory, type SimPresence } from "./store/inventory.ts";

/** More values are no help to a person, and take memory. */
const mostValues = 10_000;

/** @throws SimfleetError USAGE for a field with too many values */
export async function countByValue(
  inventory: Pick<Inventory, "scan">,
  query: {
    readonly profile: string;
    readonly keyColumn: KeyColumn;
    readonly filter: Filter;
    readonly presence: SimPresence;
    readonly field?: string | undefined;
  },
): Promise<Pick<SimCounts, "total" | "values">> {
  const { profile, filter, field, ...options } = query;
  const counts = new Map<string | null, number>();
  let total = 0;
  for await (const found of inventory.scan(profile, filter, options)) {
    total += found.length;
    if (field === undefined) continue;
    for (const { key, sim } of found) {
      const value = (field === query.keyColumn ? key : fieldTextOf(sim, field)) ?? null;
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    if (counts.size > mostValues) {
      throw new SimfleetError(
        "USAGE",
        `${field} has more than ${mostValues.toLocaleString("en-US")} values: count by another field, or narrow the filter`,
      );
    }
  }
  const values = [...counts].map(([value, count]) => ({ value, count }));
  return {
    total,
    values: values.toSorted((a, b) => b.count - a.count || ((a.value ?? "") < (b.value ?? "") ? -1 : 1)),
  };
}
