/**
 * Names of the headers that carry the brand of a platform (interface, head: `X-Svc-…` represents any brand). Looks up
 * response headers, and parses the three of the quota (interface, section 8) and Retry-After. They control how long
 * every process waits, so invalid values are dropped and durations are clamped: a hostile or broken response can slow
 * simfleet down for one window, or for an hour by Retry-After, never stop it.
 */
import type { QuotaReading } from "#limiter/permit.ts";

export type HeaderNames = ReturnType<typeof headerNames>;

/** @param brand letters, digits and hyphens, as the configuration takes it */
export function headerNames(brand: string) {
  const lower = brand.toLowerCase();
  return {
    apiKey: `X-${brand}-API-Key`,
    token: `X-${brand}-Token`,
    language: `X-${brand}-Lang`,
    // Response headers, which the transport lowercases.
    limit: `x-${lower}-ratelimit-limit`,
    remaining: `x-${lower}-ratelimit-remaining`,
    refresh: `x-${lower}-ratelimit-seconds-before-refresh`,
    nextKey: `x-${lower}-next-key`,
  };
}

/** Names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The value of one header; the first one if it occurs more than once. */
export function headerOf(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : value?.[0];
}

/**
 * Parses the three headers; undefined unless all are whole numbers in range.
 * @param periodMs length of the quota window; the time until the refresh is at most that
 */
export function readQuota(
  headers: AnswerHeaders,
  { names, periodMs }: { names: Pick<HeaderNames, "limit" | "remaining" | "refresh">; periodMs: number },
): QuotaReading | undefined {
  const limit = parseCount(headerOf(headers, names.limit));
  const remaining = parseCount(headerOf(headers, names.remaining));
  const seconds = parseCount(headerOf(headers, names.refresh));
  if (limit === undefined || remaining === undefined || seconds === undefined || limit === 0) return undefined;
  return {
    limit,
    remaining: Math.min(remaining, limit),
    secondsBeforeRefresh: Math.min(seconds, Math.ceil(periodMs / 1_000)),
  };
}

function parseCount(text: string | undefined): number | undefined {
  return text !== undefined && /^ *\d{1,15} *$/.test(text) ? Number(text) : undefined;
}

/** The longest pause that a Retry-After header can cause. */
const retryAfterCapMs = 3_600_000;

/**
 * Parses a Retry-After header, in seconds or as a date, into milliseconds: at least 0, at most an hour.
 * @param wallMs the current time, for dates
 */
export function readRetryAfterMs(headers: AnswerHeaders, wallMs: number): number | undefined {
  const text = headerOf(headers, "retry-after")?.trim();
  if (text === undefined || text === "") return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : /^[A-Z][a-z]{2},/.test(text) ? Date.parse(text) - wallMs : NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), retryAfterCapMs);
}
