/** Reports on Redis's memory, warns before it is full, and removes what has been kept for long enough. */
import { keepAnswers } from "#core/kept.ts";
import { dayMs, every, hourMs, isoTime, minuteMs } from "#core/time.ts";
import { type RedisMemory, redisMemory } from "#redis/node.ts";
import { type StorageReport, showStorage } from "./contract.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";
import { messageOf } from "#core/errors.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import { type SyncLog, isSyncOver } from "#jobs/inventory/store/sync-record.ts";
import type { RotationLog } from "#jobs/credentials/record.ts";
import { isRotationOver } from "#jobs/credentials/rotation-machine.ts";
import type { Sweep, SweepHost, Swept } from "#engine/sweep.ts";
import { readSharing, sharingKey } from "#engine/sharing.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";

export type StorageService = ReturnType<typeof storageService>;

export function storageService(
  deps: Pick<Kernel, "redis" | "keys" | "bounds" | "clock" | "config" | "feed" | "features" | "keptDays"> & {
    readonly syncs: SyncLog;
  },
) {
  const { redis, keys, clock, config } = deps;
  const { retention } = config;
  const profiles = Object.keys(config.profiles);

  // Every hour, or more often where data is kept for less than ten hours.
  const { rowDays, runDays, goneSimDays, profileDays } = retention;
  const shortestMs = Math.min(rowDays, runDays, goneSimDays, profileDays) * dayMs;
  const sweepEveryMs = Math.max(minuteMs, Math.min(hourMs, Math.round(shortestMs / 10)));

  const memory = (): Promise<RedisMemory> => redisMemory(redis, keys);

  /** Redis visits every key of simfleet for them. */
  const measured = keepAnswers<StorageReport["parts"]>(clock, minuteMs);

  const report = async (): Promise<StorageReport> => {
    const [used, sizes, former, days] = await Promise.all([
      memory(),
      measured("parts", () => storageParts(deps)),
      formerProfiles(profiles, deps),
      deps.keptDays(),
    ]);
    return {
      ...used,
      parts: sizes,
      retentionDays: { events: deps.bounds.keepMs / dayMs, ...days },
      formerProfiles: former.map(({ profile, sinceMs }) => ({
        profile,
        since: new Date(sinceMs).toISOString(),
        removedAt: new Date(sinceMs + profileDays * dayMs).toISOString(),
      })),
      archive: retention.archive ?? null,
    };
  };

  /** Emits `storage.low` if less is left than the configuration asks for; once a day at most. */
  const warnIfLow = async (): Promise<void> => {
    const { usedBytes, limitBytes } = await memory();
    if (limitBytes === 0 || 100 * usedBytes < retention.warnAtPercent * limitBytes) return;
    const fields = {
      usedBytes: String(usedBytes),
      limitBytes: String(limitBytes),
      percent: String(Math.floor((100 * usedBytes) / limitBytes)),
    };
    const day = new Date(clock.wallMs()).toISOString().slice(0, 10);
    await deps.feed.emitOnce({ type: "storage.low", profile: "", fields }, `storage.low:${day}`);
  };

  /**
   * Notes the profiles of this process, and lets all features sweep if it is time, and no other process has done so.
   * @returns undefined if another process has
   * @throws Error if a clock may be wrong: what seems old may be minutes old
   */
  const sweepIfDue = async (all: SweepHost, signal: AbortSignal) => {
    const [seconds] = await redis.time();
    const nowMs = Number(seconds) * 1_000;
    await noteProfiles(profiles, nowMs, deps);
    const isDue = await redis.set(keys.of("storage", "swept"), nowMs, "PX", sweepEveryMs - 5_000, "NX");
    if (isDue === null) return undefined;
    const sweptMs = Number((await redis.set(keys.of("storage", "swept-at"), nowMs, "GET")) ?? nowMs);
    assertClocksAgree({ nowMs, processMs: clock.wallMs(), sweptMs });
    return all.sweep({ nowMs, signal });
  };

  const endpoints = (): readonly Endpoint[] => [endpoint(showStorage, report)];
  return { memory, endpoints, warnIfLow, sweepIfDue };
}

/**
 * After a jump of Redis's clock since the last sweep, the next sweep continues, since Redis may have been away.
 * @throws Error if the clocks disagree by more than an hour, or Redis's has jumped
 */
function assertClocksAgree({ nowMs, processMs, sweptMs }: { nowMs: number; processMs: number; sweptMs: number }): void {
  if (Math.abs(processMs - nowMs) > hourMs) {
    throw new Error(
      `it is ${isoTime(nowMs)} by Redis's clock and ${isoTime(processMs)} by this machine's: set the wrong one`,
    );
  }
  if (sweptMs - nowMs > hourMs || nowMs - sweptMs > dayMs) {
    throw new Error(
      `it is ${isoTime(nowMs)} by Redis's clock, and the last removal was at ${isoTime(sweptMs)}: set the clock if it is wrong. ` +
        "The next removal, in an hour at most, goes on",
    );
  }
}

// What a worker does for storage: sweeps every hour, and checks Redis's memory every minute.

/** @returns a function that stops it, after the removal in progress */
export function watchStorage(storage: StorageService, logger: Logger, all: SweepHost): () => Promise<void> {
  const onProblem = (message: string): void => logger.warn({ job: "storage" }, message);
  const stopping = new AbortController();
  let sweeping: Promise<void> | undefined;
  const sweepOnce = async (): Promise<void> => {
    try {
      const swept = await storage.sweepIfDue(all, stopping.signal);
      if (swept === undefined) return;
      logger.info({ removed: swept.counts }, "old data was removed");
      for (const problem of swept.problems) onProblem(`not removed: ${problem}`);
    } catch (thrown) {
      if (!stopping.signal.aborted) onProblem(`old data could not be removed: ${messageOf(thrown)}`);
    }
  };
  const tick = (): void => {
    sweeping ??= sweepOnce().finally(() => (sweeping = undefined));
    storage.warnIfLow().catch((thrown: unknown) => onProblem(`Redis's memory is unknown: ${messageOf(thrown)}`));
  };
  tick();
  const stopTicking = every(minuteMs, tick);
  return async () => {
    stopTicking();
    stopping.abort();
    await sweeping;
  };
}

// Profiles that no worker has in its configuration anymore. Every worker notes its profiles with the time, so that one
// worker does not remove what another works on.

const removedAtOnce = 500;
/** Sorted set: profile to the time when a worker had it in its configuration last. */
const profilesKey = (keys: Keys): string => keys.of("profiles");

type Deps = Pick<Kernel, "redis" | "keys">;

interface InventoryDeps extends Deps {
  readonly store: Inventory;
  readonly syncs: SyncLog;
}

interface ProfileDeps extends InventoryDeps, Pick<Kernel, "config" | "features"> {
  readonly rotations: Pick<RotationLog, "records" | "forget">;
}

export async function noteProfiles(profiles: readonly string[], nowMs: number, { redis, keys }: Deps): Promise<void> {
  if (profiles.length > 0) await redis.zadd(profilesKey(keys), ...profiles.flatMap((profile) => [nowMs, profile]));
}

/**
 * The noted profiles that are not among the configured ones, and since when no worker has had them and no sync of them
 * has started, longest unused first.
 */
export async function formerProfiles(
  configured: readonly string[],
  { redis, keys, syncs }: Deps & Pick<InventoryDeps, "syncs">,
) {
  const noted = await redis.zrange(profilesKey(keys), "0", "-1", "WITHSCORES");
  const former: { profile: string; sinceMs: number }[] = [];
  for (let at = 0; at < noted.length; at += 2) {
    const profile = noted[at] ?? "";
    if (configured.includes(profile)) continue;
    const syncedAtMs = (await syncs.ofInventory(profile))?.startedAtMs ?? 0;
    former.push({ profile, sinceMs: Math.max(Number(noted[at + 1]), syncedAtMs) });
  }
  return former.sort((a, b) => a.sinceMs - b.sinceMs);
}

/** Removes the profiles that no worker has had for long enough, and the inventories that no profile has anymore. */
export async function sweepProfiles({ nowMs, signal }: Sweep, deps: ProfileDeps): Promise<Swept> {
  const { profiles, retention } = deps.config;
  const configured = Object.keys(profiles);
  let removed = 0;
  for (const { profile, sinceMs } of await formerProfiles(configured, deps)) {
    if (signal.aborted || sinceMs >= nowMs - retention.profileDays * dayMs) break;
    if (await removeProfile(profile, deps)) removed += 1;
  }
  await removeUnusedInventories(configured, deps);
  return { counts: { profiles: removed } };
}

/**
 * Removes what features store of a profile, and its rotations. The next removal completes an interrupted one.
 * @returns false if a rotation of it is in progress: nothing is removed then
 */
async function removeProfile(profile: string, { redis, keys, rotations, features }: ProfileDeps): Promise<boolean> {
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

/** Removes the inventories that these profiles had before they shared one, and those that no profile has anymore. */
export async function removeUnusedInventories(
  profiles: readonly string[],
  { redis, keys, store, syncs }: InventoryDeps,
): Promise<void> {
  const { left, nameOf, names } = await readSharing({ redis, keys });
  const unshared = profiles.filter((profile) => nameOf(profile) !== profile && !names.has(profile));
  for (const name of [...left.values(), ...unshared]) {
    const sync = await syncs.ofInventory(name);
    // A sync that started in it continues in the shared one first.
    if (unshared.includes(name) && sync !== undefined && !isSyncOver(sync)) continue;
    if (sync === undefined && !(await store.isKept(name))) continue;
    await removeKeys("sims", name, { redis, keys });
  }
  if (left.size > 0) await redis.hdel(sharingKey(keys), ...left.keys());
}

async function removeKeys(word: string, name: string, { redis, keys }: Deps): Promise<void> {
  const found = [keys.of(word, name)];
  for await (const { key } of keysLike(`${word}:${name}:`, { redis, keys })) found.push(key);
  for (let at = 0; at < found.length; at += removedAtOnce) await redis.unlink(found.slice(at, at + removedAtOnce));
}

// How much of Redis's memory each kind of data uses. The kind follows from the key's first word after the prefix.

const measureScript = Script.load(new URL("./measure-keys.lua", import.meta.url));
const keysAtOnce = 500;
/** Members of a list, set or hash that Redis measures to estimate the rest. */
const samples = 20;

/** The kinds of what the engine stores. */
const engineData = { queues: ["queue", "queues", "workers", "work"] } as const;

/** Bytes and keys of each kind of data, the largest first. */
async function storageParts(deps: Deps & Pick<Kernel, "features">) {
  const kinds = new Map(
    [{ data: engineData }, ...deps.features].flatMap(({ data = {} }) =>
      Object.entries(data).flatMap(([kind, words]) => words.map((word) => [word, kind] as const)),
    ),
  );
  const parts = new Map<string, { bytes: number; keys: number }>();
  for await (const { key, bytes } of keysLike("", deps)) {
    if (key === deps.keys.dataVersion()) continue;
    const [, word = ""] = key.slice(deps.keys.prefix.length).split(":", 2);
    const part = kinds.get(word) ?? word;
    const sum = parts.get(part) ?? { bytes: 0, keys: 0 };
    parts.set(part, { bytes: sum.bytes + bytes, keys: sum.keys + 1 });
  }
  return [...parts].map(([part, sum]) => ({ part, ...sum })).toSorted((a, b) => b.bytes - a.bytes);
}

/** Each key that starts with the common prefix and `start`, at least once, with its memory. */
async function* keysLike(start: string, { redis, keys }: Deps) {
  const pattern = `${keys.prefix.replaceAll(/[[\]*?\\]/g, "\\$&")}:${start}*`;
  let cursor = "0";
  do {
    const reply = await measureScript.run(redis, [profilesKey(keys)], [cursor, pattern, keysAtOnce, samples]);
    const [next, ...found] = reply as [string, ...(string | number)[]];
    for (let at = 0; at < found.length; at += 2) yield { key: String(found[at]), bytes: Number(found[at + 1]) };
    cursor = next;
  } while (cursor !== "0");
}
