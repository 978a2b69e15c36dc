/** The key and token pair (interface, section 2), and the two ways to get a fresh one. */
import type { Secret } from "#core/secret.ts";
import type { Credentials } from "#fleet/credentials.ts";
import type { Coverage } from "#fleet/profile.ts";
import { PlatformError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { AuthOutput } from "../operations/auth.ts";
import type { TokenClaims, TokenReader } from "./token-claims.ts";

/** The result of one authentication; kept in memory only. */
export interface Pair {
  readonly operatorId: string;
  readonly userName: string | undefined;
  /** The credentials that the pair was issued for. */
  readonly madeWith: Credentials;
  readonly apiKey: Secret;
  readonly token: Secret;
  /** From the token's verified claims; undefined if they are not verified or contain none. */
  readonly coverageTypes: readonly Coverage[] | undefined;
  /** Monotonic instant at which the pair expires. */
  readonly endsAtMs: number;
  /** The same instant on the wall clock. */
  readonly expiresAtMs: number;
}

export interface PairSource {
  /**
   * @throws PlatformError, never with `mayHaveApplied`: the call that waits for the pair was not sent. If all forms are
   *   rejected, the error is that of the last form and names all of them
   */
  authenticate(): Promise<Pair>;
  /**
   * The same pair with a new token; undefined if the platform rejects. Absent: not supported.
   * @throws if a later attempt can succeed
   */
  renew?(pair: Pair): Promise<Pair | undefined>;
}

export interface Fresh {
  readonly pair: Pair;
  readonly by: "auth" | "token";
}

/**
 * Returns the current pair with a new token, or else a new pair.
 * @param how `base` is absent if only an authentication will do; `isStillGood` returns whether the base is still in
 *   use once the new token arrives: if a 401 retired it, its successor would be rejected too
 */
export async function freshPair(
  source: PairSource,
  { base, isStillGood }: { base: Pair | undefined; isStillGood: () => boolean },
): Promise<Fresh> {
  const renewed = base === undefined || source.renew === undefined ? undefined : await source.renew(base);
  if (renewed !== undefined && isStillGood()) return { pair: renewed, by: "token" };
  forget(renewed);
  return { pair: await source.authenticate(), by: "auth" };
}

/** Unregisters the values of an unused pair from the scrubber. */
export function forget(pair: Pair | undefined): void {
  pair?.apiKey.forget();
  pair?.token.forget();
}

// Turns what the platform granted into a pair, with its expiry from the requested lifetime and the token's own claims.
// Used by authentication and by token renewal.

/**
 * Creates a pair from a grant.
 * @param askedAtMs monotonic instant before the request was sent, since the lifetime may count from there
 * @param tokens absent: claims are ignored
 * @throws PlatformError PLATFORM_RESPONSE_INVALID if the token's signature is invalid or the token has already expired
 */
export async function pairOf(
  grant: AuthOutput,
  options: {
    madeWith: Credentials;
    clock: Clock;
    tokens: TokenReader | undefined;
    askedAtMs: number;
    lifetimeMs: number;
  },
): Promise<Pair> {
  const { madeWith, clock, tokens, askedAtMs, lifetimeMs } = options;
  const claims = await tokens?.(grant.token);
  const endsAtMs = askedAtMs + Math.min(lifetimeMs, lifetimeIn(claims, clock));
  const expiresAtMs = Math.round(clock.wallMs() + endsAtMs - clock.monotonicMs());
  const { operatorId, userName, apiKey, token } = grant;
  return { operatorId, userName, madeWith, apiKey, token, coverageTypes: claims?.coverageTypes, endsAtMs, expiresAtMs };
}

/** Lifetime according to the token; computed from its own two times if this machine's clock contradicts them. */
function lifetimeIn(claims: TokenClaims | undefined, clock: Clock): number {
  if (claims?.expiresAtMs === undefined) return Infinity;
  const { expiresAtMs, issuedAtMs } = claims;
  const byOurClockMs = expiresAtMs - clock.wallMs();
  const byItsClockMs = issuedAtMs === undefined ? byOurClockMs : expiresAtMs - issuedAtMs;
  const leftMs = byOurClockMs > 0 ? Math.min(byOurClockMs, byItsClockMs) : byItsClockMs;
  if (leftMs > 0) return leftMs;
  const ended = new Date(expiresAtMs).toISOString();
  const message = `auth: the token ended at ${ended}. Check this machine's clock.`;
  throw new PlatformError("PLATFORM_RESPONSE_INVALID", message, { operation: "auth" });
}
