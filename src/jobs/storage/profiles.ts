/**
 * What is stored, by kind and by profile. First, profiles that no worker has in its configuration anymore. Every worker notes its profiles with the time, so that one worker
 * does not remove what another works on.
 */
import type { StoreDeps } from "#engine/move-record.ts";
import { readSharing, sharingKey } from "#engine/sharing.ts";
import type { RotationLog } from "#jobs/credentials/record.ts";
import { isRotationOver } from "#jobs/credentials/rotation-machine.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import type { StoragePart } from "./contract.ts";

const removedAtOnce = 500;
/** Sorted set: profile to the time when a worker had it in its configuration last. */
const profilesKey = (keys: Keys): string => keys.of("profiles");

type Deps = Pick<StoreDeps, "redis" | "keys">;

/** A profile that is kept, and since when no worker has had it and no sync of it has started. */
export interface FormerProfile {
  readonly profile: string;
  readonly sinceMs: number;
}

/** Notes that a worker has these profiles. */
export async function noteProfiles(profiles: readonly string[], nowMs: number, { redis, keys }: Deps): Promise<void> {
  if (profiles.length > 0) await redis.zadd(profilesKey(keys), ...profiles.flatMap((profile) => [nowMs, profile]));
}

/** The noted profiles that are not among the configured ones, longest unused first; a sync is a use, also by a command. */
export async function formerProfiles(configured: readonly string[], { redis, keys }: Deps): Promise<FormerProfile[]> {
  const noted = await redis.zrange(profilesKey(keys), "0", "-1", "WITHSCORES");
  const former: FormerProfile[] = [];
  for (let at = 0; at < noted.length; at += 2) {
    const profile = noted[at] ?? "";
    if (configured.includes(profile)) continue;
    const syncedAtMs = Number((await redis.hget(keys.sync(profile), "startedAtMs")) ?? 0);
    former.push({ profile, sinceMs: Math.max(Number(noted[at + 1]), syncedAtMs) });
  }
  return former.sort((a, b) => a.sinceMs - b.sinceMs);
}

/**
 * Removes what features store of a profile, and its rotations. A removal that was interrupted is completed by the next one.
 * @returns false if a rotation of it is in progress: nothing is removed then
 */
export async function removeProfile(
  profile: string,
  {
    redis,
    keys,
    rotations,
    features,
  }: Deps & {
    readonly rotations: Pick<RotationLog, "records" | "forget">;
    readonly features: readonly DataOfFeature[];
  },
): Promise<boolean> {
  const records = await rotations.records(profile);
  if (records.some((record) => !isRotationOver(record))) return false;
  for (const record of records) await rotations.forget(record);
  await redis.hdel(sharingKey(keys), profile);
  // Others may still have the inventory of its name; without any, it goes with the inventories (below).
  const isNamed = (await readSharing({ redis, keys })).names.has(profile);
  const words = features.flatMap(({ profileData = [] }) => profileData).filter((word) => word !== "sims" || !isNamed);
  for (const word of words) await removeKeys(word, profile, { redis, keys });
  await redis.srem(keys.queueNames(), `syncs-${profile}`);
  await redis.hdel(keys.quotaOwners(), profile);
  await redis.zrem(profilesKey(keys), profile);
  return true;
}

/** Removes the inventories that these profiles had before they came to share one, and those that no profile has anymore. */
export async function removeUnusedInventories(profiles: readonly string[], { redis, keys }: Deps): Promise<void> {
  const { left, nameOf, names } = await readSharing({ redis, keys });
  const unshared = profiles.filter((profile) => nameOf(profile) !== profile && !names.has(profile));
  for (const name of [...left.values(), ...unshared]) {
    const phase = (await redis.hget(keys.sync(name), "phase")) ?? "";
    // A sync that started in it continues in the shared one first.
    if (unshared.includes(name) && ["listing", "sweeping"].includes(phase)) continue;
    if ((await redis.exists(keys.simsHead(name), keys.simsClaims(name), keys.sync(name))) === 0) continue;
    await removeKeys("sims", name, { redis, keys });
  }
  if (left.size > 0) await redis.hdel(sharingKey(keys), ...left.keys());
}

async function removeKeys(word: string, name: string, { redis, keys }: Deps): Promise<void> {
  const found = [keys.of(word, name)];
  for await (const { key } of keysLike(`${word}:${name}:`, { redis, keys })) found.push(key);
  for (let at = 0; at < found.length; at += removedAtOnce) await redis.unlink(found.slice(at, at + removedAtOnce));
}

// How much of Redis's memory each kind of data uses. The kind follows from the key's first word after the common prefix.

const measureScript = Script.load(new URL("./measure-keys.lua", import.meta.url));
const keysAtOnce = 500;
/** Members of a list, set or hash that Redis measures to estimate the rest. */
const samples = 20;

/** Data of a feature. */
export interface DataOfFeature {
  /** First words of keys whose second is a profile: they are removed with the profile. */
  readonly profileData?: readonly string[];
  /** By kind of data, the first words of its keys. */
  readonly data?: Readonly<Record<string, readonly string[]>>;
}

/** The kinds of what the engine stores. */
const engineData = { queues: ["queue", "queues", "workers", "work"] } as const;

/** Bytes and keys of each kind of data, the largest first. @param features declare the first words of their keys */
export async function storageParts(deps: Deps, features: readonly DataOfFeature[]): Promise<StoragePart[]> {
  const kinds = new Map(
    [{ data: engineData }, ...features].flatMap(({ data = {} }) =>
      Object.entries(data).flatMap(([kind, words]) => words.map((word) => [word, kind] as const)),
    ),
  );
  const parts = new Map<string, { bytes: number; keys: number }>();
  for await (const { key, bytes } of keysLike("", deps)) {
    const [, word = ""] = key.slice(deps.keys.prefix.length).split(":", 2);
    const part = kinds.get(word) ?? word;
    const sum = parts.get(part) ?? { bytes: 0, keys: 0 };
    parts.set(part, { bytes: sum.bytes + bytes, keys: sum.keys + 1 });
  }
  return [...parts].map(([part, sum]) => ({ part, ...sum })).toSorted((a, b) => b.bytes - a.bytes);
}

/** Each key that starts with the common prefix and `start`, at least once, with its memory. */
async function* keysLike(
  start: string,
  { redis, keys }: Deps,
): AsyncGenerator<{ readonly key: string; readonly bytes: number }> {
  const pattern = `${keys.prefix.replaceAll(/[[\]*?\\]/g, "\\$&")}:${start}*`;
  let cursor = "0";
  do {
    const reply = await measureScript.run(redis, [keys.runs()], [cursor, pattern, keysAtOnce, samples]);
    const [next, ...found] = reply as [string, ...(string | number)[]];
    for (let at = 0; at < found.length; at += 2) yield { key: String(found[at]), bytes: Number(found[at + 1]) };
    cursor = next;
  } while (cursor !== "0");
}
