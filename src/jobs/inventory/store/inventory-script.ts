/** Common parts, keys and arguments of the scripts that write to the inventory. */
import { emitScriptPart } from "#events/feed.ts";
import { problemScriptPart } from "#engine/problem.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";

/** Lua parts that precede a script that writes to the inventory. */
export const inventoryScriptParts: readonly URL[] = [
  emitScriptPart,
  new URL("./index.lua", import.meta.url),
  new URL("./take.lua", import.meta.url),
  problemScriptPart,
];

/** Loads a script of this folder together with its parts. */
export function inventoryScript(name: string): Script {
  return Script.load(...inventoryScriptParts, new URL(`./${name}`, import.meta.url));
}

/** The keys that `inventory(…)` in take.lua expects, in its order. */
export function inventoryKeys(keys: Keys, profile: string): readonly string[] {
  return [
    keys.sims(profile),
    keys.simsHead(profile),
    keys.simsKeyOrder(profile),
    keys.simsIndex(profile),
    keys.simsSeen(profile),
    keys.simsClaims(profile),
    keys.events(),
    keys.simsBitmaps(profile),
  ];
}
