/**
 * The token-bucket limiter: mirrors each platform quota in Redis, for any number of processes, and permits a call only
 * if the current window has room for it, counting all calls in flight. It does not depend on HTTP: callers report the
 * headers of responses. State and rules are in bucket.lua and refresh-instant.lua.
 */
import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { PlatformError } from "#core/errors.ts";
import { type Clock, minuteMs, systemClock } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import { type ExchangeRequest, type Observation, PermitQueue, exchangeIn, patienceMs } from "./permit-queue.ts";
import type { Permit, PermitRequest } from "./permit.ts";

/**
 * What bulk work leaves to others: `auto`, or a share of the quota, 0 to 1, that it leaves in any case. 0 leaves
 * nothing, also not what `auto` leaves.
 */
export type Reserve = number | "auto";

export interface LimiterOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  /** Length of the platform's windows; the interface says one minute. */
  readonly periodMs?: number;
  /** Defaults to `auto`. */
  readonly reserve?: Reserve;
  /** How long a permit counts if its process never ends it: must exceed the longest call. */
  readonly leaseMs?: number;
  readonly clock?: Clock;
}

/** The state of a bucket, for display. Times are milliseconds of Redis's clock. */
export type BucketState = Readonly<Awaited<ReturnType<Limiter["state"]>>>;

/** The calls of a window that ended; `limit` 0 if no response reported it. */
export type BucketWindow = Readonly<Awaited<ReturnType<Limiter["windows"]>>[number]>;

/** The parts of the bucket's script, ordered by dependency. */
export const bucketScriptParts: readonly URL[] = [
  "refresh-instant",
  "bucket-state",
  "bucket-answers",
  "bucket-permits",
  "bucket",
].map((part) => new URL(`./${part}.lua`, import.meta.url));
/** The script's KEYS. A platform rounds alike for all users of its address, the part of a bucket's name after `@`. */
export function keysOfBucket(keys: Keys, bucket: string): string[] {
  const owner = ownerOf(bucket);
  const rounding = keys.rounding(owner.slice(owner.indexOf("@") + 1));
  return [
    keys.bucket(bucket),
    keys.permits(bucket),
    keys.buckets(),
    keys.waiters(bucket),
    keys.windows(bucket),
    rounding,
  ];
}

const bucketScript = Script.load(...bucketScriptParts);
const paceScript = Script.load(new URL("./pace.lua", import.meta.url));

export class Limiter {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #settings: Omit<BucketSettings, "bucket">;
  readonly #queues = new Map<string, PermitQueue>();

  constructor(options: LimiterOptions) {
    const { redis, keys, clock = systemClock, periodMs = minuteMs, reserve = "auto", leaseMs = 45_000 } = options;
    this.#redis = redis;
    this.#keys = keys;
    this.#clock = clock;
    this.#settings = { processId: `${process.pid}-${randomBytes(4).toString("hex")}`, periodMs, reserve, leaseMs };
  }

  /**
   * Waits for a permit, up to about 2 s.
   * @throws PlatformError PLATFORM_RATE_LIMITED with `retryAfterMs` if the wait would be longer; its `bucket` is absent
   *   if the wait is due to the caller's own rate limit, not the quota
   * @throws SimfleetError STORE_UNAVAILABLE if Redis rejects; the signal's reason if it aborts
   */
  async acquire(request: PermitRequest): Promise<Permit> {
    if (request.pace !== undefined) await this.#keepPace(request.pace, request.signal);
    return this.#queue(request.bucket).acquire(request);
  }

  /** Notes who has the quotas that a profile spends: an operator, or the profile itself. */
  async assign(profile: string, owner: string): Promise<void> {
    await this.#redis.hset(this.#keys.quotaOwners(), profile, owner);
  }

  /** Every bucket used in the last month, sorted by name, with the profiles that spend from it now. */
  async buckets(): Promise<(BucketState & { readonly profiles: readonly string[] })[]> {
    const owners = new Map(Object.entries(await this.#redis.hgetall(this.#keys.quotaOwners())));
    const known = (await this.#redis.smembers(this.#keys.buckets())).toSorted();
    // A profile's own bucket is of the past once its operator is known.
    const names = known.filter((name) => (owners.get(ownerOf(name)) ?? ownerOf(name)) === ownerOf(name));
    const lives = await Promise.all(names.map((name) => this.#redis.exists(this.#keys.bucket(name))));
    return Promise.all(
      names
        .filter((_, i) => lives[i] === 1)
        .map(async (name) => {
          const profiles = [...owners].filter(([, owner]) => owner === ownerOf(name)).map(([profile]) => profile);
          return { ...(await this.state(name)), profiles: profiles.toSorted() };
        }),
    );
  }

  /** @param named a bucket, or `<profile>.<group>` for the one that this profile's calls spend from, as last known */
  async state(named: string) {
    const owner = await this.#redis.hget(this.#keys.quotaOwners(), ownerOf(named));
    const bucket = owner === null ? named : owner + named.slice(named.lastIndexOf("."));
    const reply = await this.#run(bucket, nothingWanted);
    const key = this.#keys.bucket(bucket);
    const counters = await this.#redis.hmget(key, "calls", "throttled", "day_calls", "day_throttled");
    const [calls = 0, throttled = 0, callsToday = 0, throttledToday = 0] = counters.map(Number);
    const nowMs = Number(reply[0]);
    const waiters = Object.entries(await this.#redis.hgetall(this.#keys.waiters(bucket))).flatMap(
      ([process, entry]) => {
        const [waiting = 0, sinceMs = 0] = entry.split(":").map(Number);
        return Math.abs(nowMs - sinceMs) < 3_000 ? [{ process, waiting }] : [];
      },
    );
    return {
      bucket,
      nowMs,
      limit: numberOrNone(reply[5]),
      left: numberOrNone(reply[6]),
      inFlight: Number(reply[7]),
      reserved: numberOrNone(reply[8]),
      /** The refresh is between these two times. */
      refreshEarliestMs: numberOrNone(reply[9]),
      refreshLatestMs: numberOrNone(reply[10]),
      blockedUntilMs: numberOrNone(reply[11]),
      /** Calls that bulk work leaves to others now; those of `reserved` do not count. */
      kept: numberOrNone(reply[12]),
      /** Calls of others, and live calls of ours, in the busiest of the last windows. */
      needed: Number(reply[13]),
      calls,
      throttled,
      /** Calls since 00:00 UTC. */
      today: { calls: callsToday, throttled: throttledToday },
      /** Waiting callers, by process. */
      waiters,
    };
  }

  /** Windows of a bucket that had calls and have ended, the newest first; those of about two days are kept. */
  async windows(bucket: string, maxCount = -1) {
    const kept = await this.#redis.lrange(this.#keys.windows(bucket), 0, maxCount < 0 ? -1 : maxCount - 1);
    return kept.map((text) => {
      const [endedAtMs = 0, calls = 0, throttled = 0, limit = 0] = text.split(",").map(Number);
      return { endedAtMs, calls, throttled, limit };
    });
  }

  /** The window that has not ended, as far as it is known. */
  async #openWindow(bucket: string): Promise<BucketWindow> {
    const fields = ["run_at", "calls", "calls_before", "throttled", "throttled_before", "limit"] as const;
    const found = (await this.#redis.hmget(this.#keys.bucket(bucket), ...fields)).map(Number);
    const [endedAtMs = 0, calls = 0, callsBefore = 0, throttled = 0, throttledBefore = 0, limit = 0] = found;
    return { endedAtMs, calls: calls - callsBefore, throttled: throttled - throttledBefore, limit };
  }

  /** Calls of all buckets, in windows that have not ended before a time. */
  async callsSince(sinceMs: number): Promise<{ calls: number; throttled: number }> {
    const names = await this.#redis.smembers(this.#keys.buckets());
    const read = names.map(async (name) => [await this.#openWindow(name), ...(await this.windows(name))]);
    const windows = (await Promise.all(read)).flat();
    const sum = { calls: 0, throttled: 0 };
    for (const { endedAtMs, calls, throttled } of windows) {
      if (endedAtMs < sinceMs) continue;
      sum.calls += calls;
      sum.throttled += throttled;
    }
    return sum;
  }

  /** Announces that live calls of a profile may come at any time in the next half minute: one call is kept for them. */
  async announceLive(profile: string): Promise<void> {
    const owner = (await this.#redis.hget(this.#keys.quotaOwners(), profile)) ?? profile;
    const names = await this.#redis.smembers(this.#keys.buckets());
    const own = names.filter((name) => ownerOf(name) === owner);
    await Promise.all(own.map((name) => this.#run(name, { ...nothingWanted, mayComeLive: true })));
  }

  #queue(bucket: string): PermitQueue {
    const known = this.#queues.get(bucket);
    if (known !== undefined) return known;
    const exchange = async (request: ExchangeRequest) => exchangeIn(await this.#run(bucket, request));
    const queue = new PermitQueue({ bucket, clock: this.#clock, exchange });
    this.#queues.set(bucket, queue);
    return queue;
  }

  async #run(bucket: string, request: ExchangeRequest): Promise<(string | number)[]> {
    const args = exchangeArguments({ bucket, ...this.#settings }, request, this.#clock.monotonicMs());
    return (await bucketScript.run(this.#redis, keysOfBucket(this.#keys, bucket), args)) as (string | number)[];
  }

  async #keepPace(pace: NonNullable<PermitRequest["pace"]>, signal: AbortSignal | undefined): Promise<void> {
    const spacingMs = minuteMs / pace.callsPerMinute;
    for (;;) {
      const [granted, wait] = (await paceScript.run(this.#redis, [this.#keys.pace(pace.id)], [spacingMs, 1])) as [
        number,
        string,
      ];
      if (granted > 0) return;
      const waitMs = Number(wait);
      if (waitMs > patienceMs) {
        throw new PlatformError(
          "PLATFORM_RATE_LIMITED",
          `The run's own rate of ${pace.callsPerMinute} calls per minute asks for a wait of ${Math.ceil(waitMs / 1_000)} s`,
          { operation: pace.id, retryAfterMs: Math.ceil(waitMs) },
        );
      }
      await this.#clock.sleep(Math.max(1, waitMs), signal);
    }
  }
}

/** The settings of a bucket, and the process that talks to it. */
export interface BucketSettings extends Required<Pick<LimiterOptions, "periodMs" | "reserve" | "leaseMs">> {
  readonly bucket: string;
  readonly processId: string;
}

/**
 * ARGV of bucket.lua. An observation is one text, since long argument lists are expensive for the sender.
 * @param nowMs the process's own clock, which the observations' times refer to
 */
export function exchangeArguments(
  { bucket, periodMs, reserve, leaseMs, processId }: BucketSettings,
  { want, ahead, firstPermitNumber, urgency, backlog, observations, mayComeLive }: ExchangeRequest,
  nowMs: number,
): (string | number)[] {
  const settings = [bucket, periodMs, reserve, leaseMs, processId];
  const wanted = [want, firstPermitNumber, urgency, backlog, mayComeLive ? 1 : 0, ahead];
  return [...settings, ...wanted, ...observations.map((seen) => written(seen, nowMs))];
}

function written(seen: Observation, nowMs: number): string {
  const { limit = "", remaining = "", secondsBeforeRefresh = "" } = seen.reading ?? {};
  const receivedAgoMs = (nowMs - seen.receivedAtMonotonicMs).toFixed(3);
  const when = `${seen.grantedAtMs.toFixed(3)},${seen.sentAfterMs.toFixed(3)},${receivedAgoMs}`;
  const quota = `${limit},${remaining},${secondsBeforeRefresh},${seen.retryAfterMs}`;
  return `${seen.permitNumber},${seen.kind},${seen.window},${seen.serial},${when},${quota}`;
}

const nothingWanted: ExchangeRequest = {
  want: 0,
  ahead: 0,
  firstPermitNumber: 0,
  urgency: "normal",
  backlog: -1,
  observations: [],
};

/** Prefix before the group. Neither a group nor the mark of a call that is limited per address has a dot. */
function ownerOf(bucket: string): string {
  return bucket.slice(0, bucket.lastIndexOf("."));
}

function numberOrNone(shown: string | number | undefined): number | undefined {
  return shown === undefined || shown === "" ? undefined : Number(shown);
}
