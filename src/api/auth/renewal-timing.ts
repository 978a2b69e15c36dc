/** When a pair is renewed, and how long to wait after a failed authentication (limited per caller address). */
import { randomInt } from "node:crypto";
import { backoffMs } from "#core/backoff.ts";
import { ConfigError, PlatformError } from "#core/errors.ts";

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

/** Default lifetime of a pair, and the bounds of a requested one (interface, section 8). */
const defaultTtlSeconds = 86_400;
const ttlBoundsSeconds = { min: 180, max: 172_800 };

export interface RequestedTtl {
  /** Field of the authentication request that sets a lifetime; the interface does not show its name. */
  readonly field: string | undefined;
  readonly seconds: number | undefined;
}

/**
 * Validates a lifetime and its field.
 * @throws ConfigError outside 180 to 172,800 whole seconds, or if the field name is that of a credential
 */
export function checkTtl({ field, seconds }: RequestedTtl): void {
  const { min, max } = ttlBoundsSeconds;
  if (seconds !== undefined && !(Number.isInteger(seconds) && seconds >= min && seconds <= max)) {
    const message = `must be a whole number from ${min} to ${max}`;
    throw new ConfigError([{ where: "SIMFLEET_TOKEN_TTL_SECONDS", message }]);
  }
  const taken = ["email", "password", "mfaOTPCode", "operatorId", "userName", "authKeyId", "authKey"];
  if (field !== undefined && (taken.includes(field) || !/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(field))) {
    const message = `${JSON.stringify(field)} cannot name the lifetime`;
    throw new ConfigError([{ where: "deployment ttlField", message }]);
  }
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
