/** The fields of the inventory with the values that the index knows, for a person who writes a filter. */
import { everySim } from "#fleet/filter.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import { textOf } from "#fleet/sim/sim-fields.ts";
import type { SimField } from "../contract.ts";
import type { Inventory } from "../store/inventory.ts";
import type { IndexedField } from "../records/value-codes.ts";

const maxValues = 200;
const maxFields = 100;

/** The key first, then the fields that can be sorted by, then the others that some of the first SIMs have. */
export async function fieldsOf(
  inventory: Inventory,
  { profile, keyColumn }: { profile: string; keyColumn: KeyColumn },
  indexed: readonly IndexedField[],
): Promise<SimField[]> {
  const fields: SimField[] = [{ name: keyColumn, values: [], isSortable: true }];
  for (const { field, values, isFull } of indexed) {
    const some = [...values.keys()].toSorted().slice(0, maxValues);
    if (some.length > 0) fields.push({ name: field, values: some, isSortable: !isFull });
  }
  const others = new Map<string, Set<string>>();
  for await (const found of inventory.scan(profile, everySim, { order: "newest-first", keyColumn })) {
    for (const { sim } of found) {
      for (const [name, value] of sim.fields) {
        if (fields.some((one) => one.name === name)) continue;
        others.set(name, (others.get(name) ?? new Set()).add(textOf(value)));
      }
    }
    break;
  }
  for (const [name, values] of others) {
    // A field whose values are nearly all different, such as a name, is not offered as a list.
    fields.push({ name, values: values.size > 50 ? [] : [...values].toSorted(), isSortable: false });
  }
  return fields.slice(0, maxFields);
}
