/**
 * Profiles that no worker has in its configuration any more. Every worker notes its profiles with the time, so that one worker
 * does not remove what another works on. A profile that was never noted, from before there were notes, is found by the name
 * of its queue, and counts from then.
 */
import type { StoreDeps } from "#engine/store-deps.ts";
import { type RotationLog, isRotationOver } from "#jobs/credentials/record.ts";
import { keysLike } from "./usage.ts";

const removedAtOnce = 500;
/** Name of the queue of a profile's syncs. */
const syncQueue = /^syncs-(?<profile>.+)$/;

type Deps = Pick<StoreDeps, "redis" | "keys">;

/** A profile that is kept, and since when no worker has had it and no sync of it has begun. */
export interface FormerProfile {
  readonly profile: string;
  readonly sinceMs: number;
}

/** Notes that a worker has these profiles. */
export async function noteProfiles(profiles: readonly string[], nowMs: number, { redis, keys }: Deps): Promise<void> {
  if (profiles.length > 0) await redis.zadd(keys.profiles(), ...profiles.flatMap((profile) => [nowMs, profile]));
  const queues = await redis.smembers(keys.queueNames());
  const others = queues.flatMap((queue) => syncQueue.exec(queue)?.groups?.profile ?? []);
  if (others.length > 0) await redis.zadd(keys.profiles(), "NX", ...others.flatMap((profile) => [nowMs, profile]));
}

/** The noted profiles that are not among the configured ones, longest unused first; a sync is a use, also by a command. */
export async function formerProfiles(configured: readonly string[], { redis, keys }: Deps): Promise<FormerProfile[]> {
  const noted = await redis.zrange(keys.profiles(), "0", "-1", "WITHSCORES");
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
 * Removes the inventory, the last sync and the rotations of a profile. A removal that was interrupted is completed by the
 * next one.
 * @returns false if a rotation of it is in progress: nothing is removed then
 */
export async function removeProfile(
  profile: string,
  { redis, keys, rotations }: Deps & { readonly rotations: Pick<RotationLog, "records" | "forget"> },
): Promise<boolean> {
  const records = await rotations.records(profile);
  if (records.some((record) => !isRotationOver(record))) return false;
  for (const record of records) await rotations.forget(record);
  const names = [keys.sims(profile)];
  for await (const { key } of keysLike(`sims:${profile}:`, { redis, keys })) names.push(key);
  for (let at = 0; at < names.length; at += removedAtOnce) await redis.unlink(names.slice(at, at + removedAtOnce));
  await redis.unlink(keys.authKeyRotation(profile), keys.authKeyUsers(profile), keys.rotations(profile));
  await redis.srem(keys.queueNames(), `syncs-${profile}`);
  await redis.zrem(keys.profiles(), profile);
  return true;
}
