/** Parses Retry-After. A hostile or broken response can pause calls for an hour, never stop them. */
import { type AnswerHeaders, headerOf } from "./response-headers.ts";

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
