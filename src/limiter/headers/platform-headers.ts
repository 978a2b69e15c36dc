/**
 * Parses the platform's three rate-limit headers (interface, section 8). They control how long every process waits, so
 * invalid values are dropped and durations are clamped: a hostile or broken response can slow simfleet down for one
 * window, never stop it.
 */
import type { QuotaReading } from "../permit.ts";
import { type AnswerHeaders, headerOf } from "./response-headers.ts";

/** The names of the three headers, in lower case. */
export interface QuotaHeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly refresh: string;
}

/**
 * Parses the three headers; undefined unless all are whole numbers in range.
 * @param periodMs length of the quota window; the time until the refresh is at most that
 */
export function readQuota(
  headers: AnswerHeaders,
  { names, periodMs }: { names: QuotaHeaderNames; periodMs: number },
): QuotaReading | undefined {
  const limit = countOf(headerOf(headers, names.limit));
  const remaining = countOf(headerOf(headers, names.remaining));
  const seconds = countOf(headerOf(headers, names.refresh));
  if (limit === undefined || remaining === undefined || seconds === undefined || limit === 0) return undefined;
  return {
    limit,
    remaining: Math.min(remaining, limit),
    secondsBeforeRefresh: Math.min(seconds, Math.ceil(periodMs / 1_000)),
  };
}

function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^ *\d{1,15} *$/.test(text) ? Number(text) : undefined;
}
