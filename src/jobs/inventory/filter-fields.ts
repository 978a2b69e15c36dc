/**
 * Rejects the name of a field that no SIM has. `speedclass!=s1.fast` (wrong case) would otherwise select every SIM, since
 * a SIM without the field matches `!=` and `not exists`; and an exported column of that name would be empty.
 */
import { SimfleetError } from "#core/errors.ts";
import { suggestion } from "#core/suggest.ts";
import type { Filter } from "#fleet/filter.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import type { Inventory, InventoryFacts } from "./store/inventory.ts";

/** @throws SimfleetError USAGE with the field, a suggestion, and the existing fields */
export function assertFieldsKnown(
  inventory: Pick<Inventory, "facts" | "scan">,
  { profile, filter, keyColumn }: { profile: string; filter: Filter; keyColumn: KeyColumn },
): Promise<void> {
  const fields = filter.conditions.map(({ field }) => field);
  return assertNamesKnown(inventory, { profile, fields, keyColumn, others: [] });
}

interface Names {
  readonly profile: string;
  readonly fields: readonly string[];
  readonly keyColumn: KeyColumn;
  /** Names that are accepted besides the fields of SIMs. */
  readonly others: readonly string[];
}

/** As `assertFieldsKnown`, for the names of fields. */
export async function assertNamesKnown(
  inventory: Pick<Inventory, "facts" | "scan">,
  { profile, fields: names, keyColumn, others }: Names,
): Promise<void> {
  const fields = new Set(names.filter((field) => field !== keyColumn && !others.includes(field)));
  if (fields.size === 0) return;
  const facts = await inventory.facts(profile);
  if (facts.known + facts.gone === 0) return;
  for (const field of fields) {
    if (isKept(field, facts) || (await someSimHas(field, inventory, { profile, keyColumn }))) continue;
    const known = [...(await namesOfFields(inventory, facts, { profile, keyColumn })), ...others];
    throw new SimfleetError(
      "USAGE",
      `No SIM in the inventory has the field ${field}.${suggestion(field, known)} Known fields: ${known.join(", ")}`,
    );
  }
}

/** Whether syncs store the field, so that it is known even if no SIM has a value. */
function isKept(field: string, { isComplete, fields }: InventoryFacts): boolean {
  return isComplete && fields.includes(field);
}

async function someSimHas(
  field: string,
  inventory: Pick<Inventory, "scan">,
  { profile, keyColumn }: { profile: string; keyColumn: KeyColumn },
): Promise<boolean> {
  const filter: Filter = { text: `${field} exists`, conditions: [{ kind: "exists", field }] };
  for await (const found of inventory.scan(profile, filter, { presence: "all", keyColumn })) {
    if (found.length > 0) return true;
  }
  return false;
}

/** The stored fields, and the members found in the first SIMs. */
async function namesOfFields(
  inventory: Pick<Inventory, "scan">,
  { fields }: InventoryFacts,
  { profile, keyColumn }: { profile: string; keyColumn: KeyColumn },
): Promise<string[]> {
  const names = new Set<string>([keyColumn, ...fields]);
  for await (const found of inventory.scan(profile, { text: "", conditions: [] }, { presence: "all", keyColumn })) {
    for (const { sim } of found) for (const name of sim.fields.keys()) names.add(name);
    break;
  }
  return [...names].toSorted().slice(0, 40);
}
