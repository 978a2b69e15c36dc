/**
 * bucket.lua on the real Redis, at an instant of the test's choice: the one thing that is changed in its text is where
 * it reads the time. The protocol is that of limiter.ts.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import { type Reserve, bucketScriptParts, exchangeArguments, keysOfBucket } from "#limiter/limiter.ts";
import type { ExchangeRequest } from "#limiter/permit-queue.ts";
import type { Keys } from "#redis/keys.ts";

const source = bucketScriptParts.map((part) => readFileSync(part, "utf8")).join("\n");
const clockCall = "redis.call('TIME')";
if (source.split(clockCall).length !== 2) throw new Error(`The bucket's script has not exactly one ${clockCall}`);
const steered = source.replace(clockCall, "redis.call('HMGET', KEYS[7], 'seconds', 'microseconds')");
const digest = createHash("sha1").update(steered).digest("hex");

export interface BucketReply {
  readonly nowMs: number;
  readonly window: number;
  readonly firstSerial: number;
  readonly granted: number;
  readonly ahead: number;
  readonly waitMs: number;
  readonly limit: number | undefined;
  readonly left: number | undefined;
  readonly inFlight: number;
  readonly refresh: { readonly earliestMs: number; readonly latestMs: number } | undefined;
  readonly blockedUntilMs: number | undefined;
}

export interface BucketSettings {
  readonly periodMs: number;
  readonly reserve: Reserve;
  readonly leaseMs: number;
  /** Name. Defaults to `b`. */
  readonly bucket?: string;
}

export class SimulatedBucket {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #settings: BucketSettings;
  readonly #name: string;

  constructor(redis: Redis, keys: Keys, settings: BucketSettings) {
    this.#redis = redis;
    this.#keys = keys;
    this.#settings = settings;
    this.#name = settings.bucket ?? "b";
  }

  static async load(redis: Redis): Promise<void> {
    await redis.script("LOAD", steered);
  }

  /** The script's arguments, as limiter.ts makes them in the process. */
  arguments(processId: string, request: ExchangeRequest, processNowMs: number): (string | number)[] {
    const options = { bucket: this.#name, processId, ...this.#settings };
    return exchangeArguments(options, request, processNowMs);
  }

  async run(nowMs: number, args: readonly (string | number)[]): Promise<BucketReply> {
    const keys = this.#keys;
    const clock = `${keys.prefix}:clock`;
    const seconds = Math.floor(nowMs / 1_000);
    const replies = await this.#redis
      .pipeline()
      .hset(clock, { seconds, microseconds: Math.floor((nowMs - seconds * 1_000) * 1_000) })
      .evalsha(digest, 7, ...keysOfBucket(keys, this.#name), clock, ...args)
      .exec();
    const [error, value] = replies?.[1] ?? [new Error("no reply"), undefined];
    if (error) throw error;
    const reply = value as (string | number)[];
    const number = (at: number): number => Number(reply[at]);
    const known = (at: number): number | undefined => (reply[at] === "" ? undefined : Number(reply[at]));
    const [earliestMs, latestMs] = [known(9), known(10)];
    return {
      nowMs: number(0),
      window: number(1),
      firstSerial: number(2),
      granted: number(3),
      ahead: number(14),
      waitMs: number(4),
      limit: known(5),
      left: known(6),
      inFlight: number(7),
      blockedUntilMs: known(11),
      refresh:
        earliestMs === undefined || latestMs === undefined
          ? undefined
          : {
              earliestMs,
              latestMs,
            },
    };
  }
}
