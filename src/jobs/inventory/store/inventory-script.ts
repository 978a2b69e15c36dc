/** The scripts that write to the inventory share their first parts, keys and arguments. */
import { emitScriptPart } from "#events/feed.ts";
import { problemScriptPart } from "#engine/problem.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";

/** What a script that writes to the inventory needs in front of it. */
export const inventoryScriptParts: readonly URL[] = [
  emitScriptPart,
  new URL("./take.lua", import.meta.url),
  problemScriptPart,
];

/** Loads a script of this folder with what it needs in front of it. */
export function inventoryScript(name: string): Script {
  return Script.load(...inventoryScriptParts, new URL(`./${name}`, import.meta.url));
}

/** The keys that `inventory(…)` of take.lua expects, in its order. */
export function inventoryKeys(keys: Keys, profile: string): readonly string[] {
  return [
    keys.sims(profile),
    keys.simsHead(profile),
    keys.simsKeyOrder(profile),
    keys.simsSignatures(profile),
    keys.simsSeen(profile),
    keys.simsClaims(profile),
    keys.events(),
    keys.simsDigests(profile),
  ];
}
