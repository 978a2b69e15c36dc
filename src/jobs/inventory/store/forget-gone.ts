/** Removes SIMs from the inventory that no sync has listed for long. */
import { everySim } from "#fleet/filter.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import type { StoreDeps } from "#engine/store-deps.ts";
import { type Inventory, simsPerChunk } from "./inventory.ts";
import { inventoryKeys, inventoryScript } from "./inventory-script.ts";

const forgetScript = inventoryScript("forget-gone.lua");

/**
 * @param options `beforeMs`: SIMs that went before this instant, ms since the epoch
 * @returns how many were removed
 */
export async function forgetGoneSims(
  profile: string,
  options: { readonly beforeMs: number; readonly keyColumn: KeyColumn },
  { inventory, redis, keys, bounds }: StoreDeps & { readonly inventory: Inventory },
): Promise<number> {
  const { beforeMs, keyColumn } = options;
  let removed = 0;
  for await (const found of inventory.scan(profile, everySim, { presence: "gone", keyColumn })) {
    const old = found.filter(({ sim }) => (sim.goneAtMs ?? beforeMs) < beforeMs);
    for (const [chunk, sims] of Map.groupBy(old, ({ sim }) => Math.floor(sim.ordinal / simsPerChunk))) {
      const args = [profile, bounds.maxEvents, chunk, beforeMs, ...sims.map(({ key }) => key)];
      removed += Number(await forgetScript.run(redis, inventoryKeys(keys, profile), args));
    }
  }
  return removed;
}
