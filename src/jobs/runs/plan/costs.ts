/** Which calls cost money, as far as the inventory knows. */
import { matches, parseFilter } from "#fleet/filter.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { fieldTextOf } from "#jobs/inventory/store/inventory.ts";
import type { KnownSim } from "#jobs/inventory/records/sim-record.ts";

/** Decides for the SIMs of an operation; a SIM that the inventory does not list may cost money. */
export function costCheck({
  danger,
  costlyWhen,
  keyColumn,
}: SimOperation): (key: string, sim: KnownSim | undefined) => boolean {
  if (danger !== "costly") return () => false;
  if (costlyWhen === undefined) return () => true;
  const filter = parseFilter(costlyWhen);
  return (key, sim) =>
    sim === undefined ||
    sim.goneAtMs !== undefined ||
    matches(filter, (field) => (field === keyColumn ? key : fieldTextOf(sim, field)));
}
