/**
 * Profiles that no worker has in its configuration any more. Every worker notes its profiles with the time, so that one worker
 * does not remove what another works on.
 */
import type { StoreDeps } from "#engine/store-deps.ts";
import { type RotationLog, isRotationOver } from "#jobs/credentials/record.ts";
import type { Keys } from "#redis/keys.ts";
import { type DataOfFeature, keysLike } from "./usage.ts";

const removedAtOnce = 500;
/** Sorted set: profile to the time when a worker had it in its configuration last. */
const profilesKey = (keys: Keys): string => keys.of("profiles");

type Deps = Pick<StoreDeps, "redis" | "keys">;

/** A profile that is kept, and since when no worker has had it and no sync of it has begun. */
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
  const words = features.flatMap(({ profileData = [] }) => profileData);
  const names = words.map((word) => keys.of(word, profile));
  for (const word of words) {
    for await (const { key } of keysLike(`${word}:${profile}:`, { redis, keys })) names.push(key);
  }
  for (let at = 0; at < names.length; at += removedAtOnce) await redis.unlink(names.slice(at, at + removedAtOnce));
  await redis.srem(keys.queueNames(), `syncs-${profile}`);
  await redis.zrem(profilesKey(keys), profile);
  return true;
}
