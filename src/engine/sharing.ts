/**
 * Which profiles share an inventory: those of one operator, coverage and kind of key, their fleet. It has the name of
 * the profile that was known first, whatever the platform's address. A profile of an unknown operator has its own.
 */
import type { Keys } from "#redis/keys.ts";
import type { StoreDeps } from "./move-record.ts";

/** Hash: profile to its fleet and `root` or `user`, and fleet to the name of its inventory. */
export const sharingKey = (keys: Keys): string => keys.of("inventories");
/** Hash: number of known and gone SIMs, the next ordinal, and the fields stored by the last complete sync. */
export const inventoryHead = (keys: Keys, name: string): string => keys.of("sims", name, "head");

type Deps = Pick<StoreDeps, "redis" | "keys">;

export interface SharingSettings {
  readonly profiles: Readonly<Record<string, unknown>>;
  readonly inventory: { readonly profile?: string | undefined };
}

/** The name of the inventory that a profile has now. */
export async function inventoryOf(deps: Deps, profile: string): Promise<string> {
  return (await readSharing(deps)).nameOf(profile);
}

export type Sharing = Awaited<ReturnType<typeof readSharing>>;

export async function readSharing({ redis, keys }: Deps) {
  const stored = new Map(Object.entries(await redis.hgetall(sharingKey(keys))));
  const profiles = [...stored.keys()].filter((key) => !key.includes("@"));
  const fleets = new Map([...stored].filter(([key]) => key.includes("@")));
  const names = new Set(fleets.values());
  const fleetOf = (profile: string): string => stored.get(profile)?.split(" ")[0] ?? "";
  /** A name without an inventory: that of the profile, unless others of its former operator use it. */
  const freeName = (profile: string): string => (names.has(profile) ? freeName(`${profile}~`) : profile);
  const nameOf = (profile: string): string => fleets.get(fleetOf(profile)) ?? freeName(profile);
  const sharers = (profile: string): string[] =>
    stored.has(profile) ? profiles.filter((other) => fleetOf(other) === fleetOf(profile)) : [profile];
  return {
    names,
    freeName,
    entryOf: (profile: string) => (fleets.has(fleetOf(profile)) ? stored.get(profile) : undefined),
    nameOf,
    /** The ID of a profile's operator; undefined while it is not known. */
    operatorOf: (profile: string) => fleetOf(profile).split("@")[0] || undefined,
    /** The profiles with this one's inventory, itself included. */
    sharers,
    /** Profiles whose lists show all SIMs; others may see a part of them. */
    seers: (profile: string, { profiles: known, inventory: { profile: chosen = "" } }: SharingSettings): string[] => {
      const sharing = Object.keys(known).filter((name) => sharers(profile).includes(name));
      if (sharing.includes(chosen)) return [chosen];
      const roots = sharing.filter((name) => stored.get(name)?.endsWith(" root"));
      return roots.length > 0 ? roots : sharing.slice(0, 1);
    },
    /** Fleets that no profile has anymore, and the names of their inventories. */
    left: new Map([...fleets].filter(([fleet]) => !profiles.some((profile) => fleetOf(profile) === fleet))),
    /** The first of the profiles with each inventory. */
    firsts: (some: readonly string[]) => [...Map.groupBy(some, nameOf).values()].flatMap(([first = ""]) => first),
  };
}

/** Notes the fleet of a profile, which contains `@` and no space, and whether the profile is the Root user. */
export async function noteFleet(
  deps: Deps,
  { profile, fleet, isRoot }: { readonly profile: string; readonly fleet: string; readonly isRoot: boolean },
  settings: SharingSettings,
): Promise<void> {
  const { redis, keys } = deps;
  const { entryOf, freeName } = await readSharing(deps);
  const entry = `${fleet} ${isRoot ? "root" : "user"}`;
  if (entryOf(profile) === entry) return;
  // Together: with the name alone, the profile would seem to have another inventory.
  await redis.multi().hsetnx(sharingKey(keys), fleet, freeName(profile)).hset(sharingKey(keys), profile, entry).exec();
  const now = await readSharing(deps);
  const name = now.nameOf(profile);
  // The others may have listed a part: the next sync, of this profile, counts as the first one.
  const seesMore = ![profile, freeName(profile)].includes(name) && now.seers(profile, settings).join() === profile;
  if (seesMore) await redis.hdel(inventoryHead(keys, name), "settled");
}
