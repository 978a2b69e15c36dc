/** When a pair is renewed, and how long to wait after a failed authentication (limited per caller address). */
import { randomInt } from "node:crypto";
import { backoffMs } from "#core/backoff.ts";
import { PlatformError } from "#core/errors.ts";

/** How long a rejection of the credentials is cached. */
export const refusalMs = 30_000;
/**
 * How many fresh pairs in a row may be rejected before the credentials are blamed: two if none was ever accepted, more
 * afterward, since pairs that are revoked one after the other can affect several calls before any succeeds.
 */
export const refusedInARow = { fromTheStart: 2, afterSuccess: 4 };
/** Minimum pause between two failed early renewals. */
export const earlyPauseMs = 1_000;

const unavailablePolicy = { baseMs: 100, capMs: 5_000 };

/** Default lifetime of a pair (interface, section 8). */
const defaultTtlSeconds = 86_400;

interface RequestedTtl {
  /** Field of the authentication request that sets a lifetime; the interface does not show its name. */
  readonly field: string | undefined;
  readonly seconds: number | undefined;
}

/** Lifetime of a pair as far as the request shows: a lifetime that cannot be requested can only shorten the default. */
export function lifetimeMs({ field, seconds }: RequestedTtl): number {
  const wished = seconds ?? defaultTtlSeconds;
  return (field === undefined ? Math.min(wished, defaultTtlSeconds) : wished) * 1_000;
}

/**
 * How long before its expiry a pair is renewed: a tenth of the lifetime, within 10 s and 5 min, plus a random share of
 * up to another tenth, at most an hour, so that workers that started together do not renew together.
 * @param chance in [0, 1)
 */
export function marginMs(pairMs: number, chance: number): number {
  const plainMs = Math.min(Math.max(pairMs / 10, 10_000), 300_000, pairMs / 2);
  return plainMs + Math.min(pairMs / 10, 3_600_000) * chance;
}

/** A random number in [0, 1). */
export function anyChance(): number {
  return randomInt(1_000_000) / 1_000_000;
}

/** How long to wait before the next authentication; `failures` counts those in a row. */
export function pauseAfterMs(error: unknown, failures: number): number {
  if (!(error instanceof PlatformError)) return 0;
  if (error.disposition === "never") return refusalMs;
  return error.code === "PLATFORM_RATE_LIMITED" ? (error.retryAfterMs ?? 0) : backoffMs(unavailablePolicy, failures);
}

/** The limiter tracks an exhausted quota, and an unreachable store has its own backoff. */
export function isRemembered(error: unknown): boolean {
  return error instanceof PlatformError && error.code !== "PLATFORM_RATE_LIMITED";
}
