/** Reports on Redis's memory, warns before it is full, and removes what has been kept for long enough. */
import { keepAnswers } from "#core/kept.ts";
import { dayMs, every, minuteMs } from "#core/time.ts";
import { type RedisMemory, redisMemory } from "#redis/memory.ts";
import type { Feed } from "#events/feed.ts";
import { type StoragePart, type StorageReport, showStorage } from "./contract.ts";
import { formerProfiles, noteProfiles, storageParts, type SweepDeps, type SweepReport, sweep } from "./sweep.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";
import { messageOf } from "#core/errors.ts";

const hourMs = 60 * minuteMs;

export interface StorageDeps extends SweepDeps {
  readonly feed: Feed;
  readonly auditKeepMs: number;
}

export type StorageService = ReturnType<typeof storageService>;

export function storageService(deps: StorageDeps) {
  const { redis, keys, clock, retention } = deps;

  // Every hour, or more often where data is kept for less than ten hours.
  const shortestMs = Math.min(retention.rowsMs, retention.runsMs, retention.goneSimsMs, retention.profilesMs);
  const sweepEveryMs = Math.max(minuteMs, Math.min(hourMs, Math.round(shortestMs / 10)));

  const memory = (): Promise<RedisMemory> => redisMemory(redis, keys);

  /** Redis visits every key of simfleet for them. */
  const measured = keepAnswers<StoragePart[]>(clock, minuteMs);

  const report = async (): Promise<StorageReport> => {
    const [used, sizes, former] = await Promise.all([
      memory(),
      measured("parts", () => storageParts(deps, deps.features)),
      formerProfiles(deps.profiles, deps),
    ]);
    return {
      ...used,
      parts: sizes,
      retentionDays: {
        rows: Math.min(retention.rowsMs, retention.runsMs) / dayMs,
        runs: retention.runsMs / dayMs,
        events: deps.bounds.keepMs / dayMs,
        deliveries: retention.deliveriesMs / dayMs,
        audit: deps.auditKeepMs / dayMs,
        goneSims: retention.goneSimsMs / dayMs,
        rotations: retention.rotationsMs / dayMs,
        profiles: retention.profilesMs / dayMs,
      },
      formerProfiles: former.map(({ profile, sinceMs }) => ({
        profile,
        since: new Date(sinceMs).toISOString(),
        removedAt: new Date(sinceMs + retention.profilesMs).toISOString(),
      })),
      archive: retention.archive ?? null,
    };
  };

  /** Emits `storage.low` if less is left than the configuration asks for; once a day at most. */
  const warnIfLow = async (): Promise<void> => {
    const { usedBytes, limitBytes } = await memory();
    if (limitBytes === 0 || usedBytes < retention.warnAtShare * limitBytes) return;
    const fields = {
      usedBytes: String(usedBytes),
      limitBytes: String(limitBytes),
      percent: String(Math.floor((100 * usedBytes) / limitBytes)),
    };
    const day = new Date(clock.wallMs()).toISOString().slice(0, 10);
    await deps.feed.emitOnce({ type: "storage.low", profile: "", fields }, `storage.low:${day}`);
  };

  /**
   * Notes the profiles of this process, and sweeps if it is time, and no other process has done so.
   * @returns undefined if another process has
   * @throws Error if a clock may be wrong: what seems old may be minutes old
   */
  const sweepIfDue = async (signal: AbortSignal): Promise<SweepReport | undefined> => {
    const [seconds] = await redis.time();
    const nowMs = Number(seconds) * 1_000;
    await noteProfiles(deps.profiles, nowMs, deps);
    const isDue = await redis.set(keys.of("storage", "swept"), nowMs, "PX", sweepEveryMs - 5_000, "NX");
    if (isDue === null) return undefined;
    const sweptMs = Number((await redis.set(keys.of("storage", "swept-at"), nowMs, "GET")) ?? nowMs);
    assertClocksAgree({ nowMs, processMs: clock.wallMs(), sweptMs });
    return sweep(deps, nowMs, signal);
  };

  return { memory, report, warnIfLow, sweepIfDue };
}

const isoTime = (ms: number): string => new Date(ms).toISOString();

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

// What answers the route of storage.

export function storageEndpoints(storage: StorageService): readonly Endpoint[] {
  return [endpoint(showStorage, () => storage.report())];
}

// What a worker does for storage: sweeps every hour, and checks Redis's memory every minute.

/** @returns a function that stops it, after the removal in progress */
export function watchStorage(
  storage: Pick<StorageService, "sweepIfDue" | "warnIfLow">,
  report: { readonly onSwept: (report: SweepReport) => void; readonly onProblem: (message: string) => void },
): () => Promise<void> {
  const { onSwept, onProblem } = report;
  const stopping = new AbortController();
  let sweeping: Promise<void> | undefined;
  const sweepOnce = async (): Promise<void> => {
    try {
      const swept = await storage.sweepIfDue(stopping.signal);
      if (swept === undefined) return;
      onSwept(swept);
      for (const problem of swept.problems) onProblem(`not removed: ${problem}`);
    } catch (thrown) {
      if (!stopping.signal.aborted) onProblem(`old data could not be removed: ${messageOf(thrown)}`);
    }
  };
  const tick = (): void => {
    sweeping ??= sweepOnce().finally(() => {
      sweeping = undefined;
    });
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
