/** Counts the fleet, for the dashboard and for scheduled reports. */
import { everySim } from "#fleet/filter.ts";
import { textOf } from "#fleet/sim/sim-fields.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import type { Inventory } from "./store/inventory.ts";
import type { Counts, FleetReport, SyncReport } from "./contract.ts";

/** Key for SIMs without a value. */
const none = "none";
const mostGroups = 50;

/** Reads every SIM once, in constant memory. */
export async function countFleet(
  inventory: Inventory,
  of: { profile: string; keyColumn: KeyColumn; lastSync: SyncReport | undefined; atMs: number },
): Promise<FleetReport> {
  const { profile, keyColumn, lastSync, atMs } = of;
  const tallies = {
    speedClass: new Map<string, number>(),
    status: new Map<string, number>(),
    groupId: new Map<string, number>(),
  };
  let total = 0;
  for await (const found of inventory.scan(profile, everySim, { keyColumn })) {
    total += found.length;
    for (const { sim } of found) {
      for (const [field, counts] of Object.entries(tallies)) {
        const value = sim.fields.get(field);
        const text = value === undefined ? none : textOf(value);
        counts.set(text, (counts.get(text) ?? 0) + 1);
      }
    }
  }
  const { gone, isComplete } = await inventory.facts(profile);
  return {
    profile,
    at: new Date(atMs).toISOString(),
    total,
    gone,
    isComplete,
    lastSync: lastSync ?? null,
    bySpeedClass: countsOf(tallies.speedClass, Number.POSITIVE_INFINITY),
    byStatus: countsOf(tallies.status, Number.POSITIVE_INFINITY),
    byGroup: countsOf(tallies.groupId, mostGroups),
  };
}

function countsOf(tally: ReadonlyMap<string, number>, most: number): Counts {
  const largest = [...tally].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  const rest = largest.slice(most).reduce((sum, [, count]) => sum + count, 0);
  const shown = largest.slice(0, most);
  return Object.fromEntries(rest === 0 ? shown : [...shown, ["other", rest]]);
}
