/**
 * The entry point `simfleet/limiter`: lets a program spend the quotas of an API to the last call without an HTTP 429, alone or
 * together with other processes that use the same Redis. This file declares each type that it exports, so that a consumer
 * needs no other package's types.
 */
import { headerNames } from "#api/http/brand.ts";
import { systemClock } from "#core/time.ts";
import { readQuota } from "#limiter/headers/platform-headers.ts";
import { readRateLimitFields } from "#limiter/headers/rate-limit-headers.ts";
import type { AnswerHeaders } from "#limiter/headers/response-headers.ts";
import { readRetryAfterMs } from "#limiter/headers/retry-after.ts";
import { openStore, policyLimiter } from "./limiter-parts.ts";

interface CommonOptions {
  /** Length of the API's windows in milliseconds, unless its headers or `limits` say it; default 60,000. */
  readonly periodMs?: number;
  /** Share of each quota, 0 to 1, that is left to other callers; default 0. */
  readonly reserve?: number;
  /** Limits that the API documents but does not send, by bucket: a call needs room in all of them. */
  readonly limits?: Readonly<Record<string, readonly FixedLimit[]>>;
  /** Called when what a response has shown could not be stored, and when the connection to Redis is lost. */
  readonly onError?: (error: Error) => void;
}

/** Calls are counted in Redis, for all programs that use it. */
export interface RedisLimiterOptions extends CommonOptions {
  /** Address of Redis, such as `redis://127.0.0.1:6379`, or the path of its socket. */
  readonly redis: string;
  /** Begins the names of all keys in Redis; default `{simfleet}`, which the workers use. */
  readonly keyPrefix?: string;
}

/** Calls are counted in this process. */
export interface MemoryLimiterOptions extends CommonOptions {
  readonly store: "memory";
}

export type LimiterOptions = RedisLimiterOptions | MemoryLimiterOptions;

/** No interval of `periodMs` has more than `limit` calls. */
export interface FixedLimit {
  readonly limit: number;
  readonly periodMs: number;
}

/** What one response says of the only quota that applies to its call. */
export interface QuotaReading {
  /** Calls allowed in each period. */
  readonly limit: number;
  /** Calls left in the current period. */
  readonly remaining: number;
  /** Whole seconds until the period ends. */
  readonly secondsBeforeRefresh: number;
}

/** What one response says of one of the policies that apply to its call. */
export interface PolicyReading {
  readonly name: string;
  /** The partition key (`pk`) in base64; empty without one. */
  readonly partitionKey: string;
  /** Calls allowed in each window (`q`). */
  readonly limit: number | undefined;
  /** Length of the window (`w`). */
  readonly periodMs: number | undefined;
  /** Calls left (`r`). */
  readonly remaining: number | undefined;
  /** Whole seconds until more calls are allowed (`t`). */
  readonly secondsBeforeRefresh: number | undefined;
}

/** What a response says of its quotas. */
export interface Answer {
  /** From `readPlatformHeaders`. */
  readonly reading?: QuotaReading | undefined;
  /** From `readRateLimitHeaders`. */
  readonly policies?: readonly PolicyReading[] | undefined;
  /** Whether the API refused the call because of a quota: its status was 429. */
  readonly throttled: boolean;
  /** From `readRetryAfter`. */
  readonly retryAfterMs?: number | undefined;
}

/** Permission for one call. Exactly one of `answered`, `lost` and `giveBack` ends it. */
export interface Permit {
  /** Must be called right before the request is sent. */
  sending(): void;
  /** A response arrived, successful or not. */
  answered(answer: Answer): void;
  /** The request was sent, and no response will arrive. */
  lost(): void;
  /** The request was never sent. */
  giveBack(): void;
}

/** What is known of a quota; of the one with the fewest calls left if a bucket has several. */
export interface BucketState {
  /** Undefined until a response has shown it. */
  readonly limit: number | undefined;
  readonly left: number | undefined;
  /** Calls in flight, of all processes. */
  readonly inFlight: number;
}

export interface Limiter {
  /**
   * Waits for a permit, up to about 2 s for each quota.
   * @param bucket name of what the calls spend, such as `api.example.com`; for quotas of simfleet's workers
   *   `<profile>.<API group>`, such as `default.Sim`
   * @param options `partition`: what the API divides its quotas by, such as a user; `urgency`: `priority` calls come first and
   *   may use the reserve; `backlog`: calls that all callers still want to make, those in flight included, if known: then
   *   no call that they need is kept back to learn how the API rounds its seconds
   * @throws an error with the code PLATFORM_THROTTLED and `retryAfterMs` if the wait would be longer, or with the code
   *   STORE_UNAVAILABLE if Redis cannot be used
   */
  acquire(
    bucket: string,
    options?: {
      readonly partition?: string;
      readonly urgency?: "normal" | "priority";
      readonly backlog?: () => number;
      readonly signal?: AbortSignal;
    },
  ): Promise<Permit>;
  state(bucket: string, options?: { readonly partition?: string }): Promise<BucketState>;
  /** Closes the connection to Redis, or frees the memory. */
  close(): Promise<void>;
}

/** Headers of `fetch`, or an object with names in lower case, as of `node:http`. */
export type ResponseHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | string[] | undefined>>;

/** @throws an error with the code CONFIG_INVALID if the address of Redis is not valid */
export function openLimiter(options: LimiterOptions): Limiter {
  const store = openStore(options);
  const limiter = store.ready.then((ready) => policyLimiter(ready, options));
  limiter.catch(() => undefined); // reported by the first call
  return {
    acquire: async (bucket, { partition = "", urgency = "normal", backlog, signal } = {}) =>
      (await limiter).acquire({ bucket, partition, urgency, backlog, signal }),
    state: async (bucket, { partition = "" } = {}) => {
      const { limit, left, inFlight } = await (await limiter).state(bucket, partition);
      return { limit, left, inFlight };
    },
    close: () => store.close(),
  };
}

/**
 * Reads the fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers).
 * @returns the policies that count requests; none if the response has no valid field
 */
export function readRateLimitHeaders(headers: ResponseHeaders): PolicyReading[] {
  return readRateLimitFields(asObject(headers, ["ratelimit-policy", "ratelimit"]));
}

/**
 * Reads the three headers of the platform that simfleet is made for.
 * @param options `brand`: word in their names, default `Svc`; `periodMs`: length of the windows, default 60,000
 * @returns undefined unless all three are valid
 * @throws an error with the code CONFIG_INVALID if the brand cannot be part of a header's name
 */
export function readPlatformHeaders(
  headers: ResponseHeaders,
  { brand = "Svc", periodMs = 60_000 }: { readonly brand?: string; readonly periodMs?: number } = {},
): QuotaReading | undefined {
  const names = headerNames(brand);
  return readQuota(asObject(headers, [names.limit, names.remaining, names.refresh]), { names, periodMs });
}

/** Reads `Retry-After`, in seconds or as a date. @returns milliseconds, at most an hour; undefined if it is not valid */
export function readRetryAfter(headers: ResponseHeaders): number | undefined {
  return readRetryAfterMs(asObject(headers, ["retry-after"]), systemClock.wallMs());
}

function asObject(headers: ResponseHeaders, names: readonly string[]): AnswerHeaders {
  if (!isHeaders(headers)) return headers;
  return Object.fromEntries(names.map((name) => [name, headers.get(name) ?? undefined]));
}

function isHeaders(headers: ResponseHeaders): headers is { get(name: string): string | null } {
  return typeof headers["get"] === "function";
}
