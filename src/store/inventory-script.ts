/** The scripts that write to the inventory share their first parts, keys and arguments. */
import type { Redis } from "ioredis";
import { type FeedBounds, tellScriptPart } from "#events/feed.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";

/** Where the inventory lies, and how much of the past its events keep. */
export interface InventoryTerms {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly bounds: FeedBounds;
}

/** Loads a script with what it needs in front of it. */
export function inventoryScript(name: string): Script {
  return Script.load(tellScriptPart, part("take.lua"), part("problem.lua"), part(name));
}

/** Loads a script that moves a run, and with it may take what an answer showed into the inventory. */
export function runScript(name: string): Script {
  return Script.load(tellScriptPart, part("take.lua"), part("tell-run.lua"), part("problem.lua"), part(name));
}

function part(name: string): URL {
  return new URL(`./${name}`, import.meta.url);
}

/** The keys that `inventory(…)` of take.lua expects, in its order. */
export function inventoryKeys(keys: Keys, profile: string): readonly string[] {
  return [
    keys.sims(profile),
    keys.simsHead(profile),
    keys.simsRoll(profile),
    keys.simsSigns(profile),
    keys.simsSeen(profile),
    keys.simsClaims(profile),
    keys.events(),
    keys.simsDigests(profile),
  ];
}
