/**
 * The entry point `simfleet/limiter`: lets another program spend the same quotas as the workers of simfleet. Both count their
 * calls in one Redis, so that none of them gets an HTTP 429. This file declares each type that it exports, so that a
 * consumer needs no other package's types.
 */
import { Limiter as SharedLimiter } from "#limiter/limiter.ts";
import { RedisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { redisTarget } from "./redis-target.ts";

export interface LimiterOptions {
  /** Address of Redis, such as `redis://127.0.0.1:6379`, or the path of its socket. */
  readonly redis: string;
  /** Length of the platform's windows in milliseconds; default 60,000. */
  readonly periodMs?: number;
  /** Share of each quota, 0 to 1, that is left to other callers; default 0. */
  readonly reserve?: number;
  /** Begins the names of all keys in Redis; default `{simfleet}`, which the workers use. */
  readonly keyPrefix?: string;
  /** Called when the connection to Redis is lost; it is opened again by itself. */
  readonly onError?: (error: Error) => void;
}

/** The rate-limit headers of one response. */
export interface QuotaReading {
  /** Calls allowed in each period. */
  readonly limit: number;
  /** Calls left in the current period. */
  readonly remaining: number;
  /** Whole seconds until the period ends. */
  readonly secondsBeforeRefresh: number;
}

/** Permission for one call. Exactly one of `answered`, `lost` and `giveBack` ends it. */
export interface Permit {
  /** Must be called right before the request is sent. */
  sending(): void;
  /** A response arrived. `reading`: its headers, if it had them; `throttled`: it was a 429. */
  answered(answer: { reading?: QuotaReading; throttled: boolean; retryAfterMs?: number }): void;
  /** The request was sent, and no response will arrive. */
  lost(): void;
  /** The request was never sent. */
  giveBack(): void;
}

/** What is known of a quota. */
export interface BucketState {
  /** Undefined until a response has shown it. */
  readonly limit: number | undefined;
  readonly left: number | undefined;
  /** Calls in flight, of all processes. */
  readonly inFlight: number;
}

export interface Limiter {
  /**
   * Waits for a permit, up to about 2 s.
   * @param bucket name of the quota: `<profile>.<API group>`, such as `default.Sim`
   * @throws an error with the code PLATFORM_THROTTLED and `retryAfterMs` if the wait would be longer
   */
  acquire(
    bucket: string,
    options?: { readonly urgency?: "normal" | "priority"; readonly signal?: AbortSignal },
  ): Promise<Permit>;
  state(bucket: string): Promise<BucketState>;
  /** Closes the connection to Redis. */
  close(): Promise<void>;
}

/** @throws an error with the code CONFIG_INVALID if the address of Redis is not valid */
export function openLimiter(options: LimiterOptions): Limiter {
  const connections = new RedisConnections(redisTarget(options.redis), options.onError);
  const limiter = new SharedLimiter({
    redis: connections.connect("library"),
    keys: new Keys(options.keyPrefix),
    periodMs: options.periodMs ?? 60_000,
    reserve: options.reserve ?? 0,
  });
  return {
    acquire: (bucket, { urgency = "normal", signal } = {}) => limiter.acquire({ bucket, urgency, signal }),
    state: async (bucket) => {
      const { limit, left, inFlight } = await limiter.state(bucket);
      return { limit, left, inFlight };
    },
    close: () => connections.close(),
  };
}
