/**
 * Turns what the platform granted into a pair, with its expiry from the requested lifetime and the token's own claims.
 * Used by authentication and by token renewal.
 */
import { PlatformError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { CredentialForm } from "./credential-form.ts";
import type { AuthOutput } from "../operations/auth.ts";
import type { Pair } from "./pair.ts";
import type { TokenClaims, TokenReader } from "./token-claims.ts";

/**
 * Creates a pair from a grant.
 * @param askedAtMs monotonic instant before the request was sent, since the lifetime may count from there
 * @param tokens absent: claims are ignored
 * @throws PlatformError PLATFORM_RESPONSE_INVALID if the token's signature is invalid or the token has already expired
 */
export async function pairOf(
  grant: AuthOutput,
  options: {
    madeWith: CredentialForm;
    clock: Clock;
    tokens: TokenReader | undefined;
    askedAtMs: number;
    lifetimeMs: number;
  },
): Promise<Pair> {
  const { madeWith, clock, tokens, askedAtMs, lifetimeMs } = options;
  const claims = await tokens?.read(grant.token);
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
  throw new PlatformError(
    "PLATFORM_RESPONSE_INVALID",
    `auth: the token ended at ${ended}. Check this machine's clock.`,
    {
      operation: "auth",
    },
  );
}
