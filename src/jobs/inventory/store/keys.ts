/** The Redis keys of an inventory, which has the name of a profile (engine/sharing.ts). */
import { inventoryHead } from "#engine/sharing.ts";
import type { Keys } from "#redis/keys.ts";

export type InventoryKeys = ReturnType<typeof inventoryKeys>;

export function inventoryKeys(keys: Keys) {
  const of = (name: string, ...parts: readonly (string | number)[]): string => keys.of("sims", name, ...parts);
  const own = {
    /** Hash: SIM to its stored record. */
    records: (name: string) => of(name),
    head: (name: string) => inventoryHead(keys, name),
    /** String: SIM keys of one chunk in ordinal order. Without a chunk, the common prefix. */
    keyOrder: (name: string, chunk?: number) => of(name, "roll", chunk ?? ""),
    /** Hash: value of an indexed field to the number of its bitmap (index.lua). */
    index: (name: string) => of(name, "index"),
    /** Prefix of bitmaps of ordinals: one for each number in the index, `listed` and `gone`. */
    bitmaps: (name: string) => of(name, "bits", ""),
    /** Bitmap: ordinals of the SIMs that the current sync has seen. */
    seen: (name: string) => of(name, "seen"),
    /** Hash: SIM to the run that is currently changing its class, and the class. */
    locks: (name: string) => of(name, "locks"),
    /** Hash: the current or last sync. */
    sync: (name: string) => of(name, "sync"),
    /** Sorted set: counts of the fleet, by time. */
    history: (name: string) => of(name, "history"),
    /** String with expiry: bytes that each SIM has used in the current day or month, by ordinal (usage.ts). */
    usage: (name: string, period: string) => of(name, "usage", period),
  };
  const { records, head, keyOrder, index, seen, locks, bitmaps } = own;
  return {
    ...own,
    /** The keys that `inventory(…)` in take.lua expects, in its order. */
    ofScripts: (name: string): readonly string[] => {
      const before = [records, head, keyOrder, index, seen, locks].map((key) => key(name));
      return [...before, keys.events(), bitmaps(name)];
    },
  };
}
