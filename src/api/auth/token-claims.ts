/**
 * Reads the claims of a token after verifying its signature (interface, section 2): with two fixed algorithms, against
 * the platform's key set or one public key. Expiry is returned but not enforced here, since this machine's clock may be
 * wrong; the pair keeper accounts for the lifetime.
 */
import { createPublicKey } from "node:crypto";
import { compactVerify, type CompactVerifyGetKey } from "jose";
import { z } from "zod";
import { PlatformError } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import type { Coverage } from "#fleet/profile.ts";

export type TokenVerification = { readonly jwksUrl: string } | { readonly publicKeyPem: string };

export interface TokenClaims {
  /** Deduplicated, without unknown types; undefined if the token names none. */
  readonly coverageTypes: readonly Coverage[] | undefined;
  /** Expiry of the token, milliseconds since the Unix epoch. */
  readonly expiresAtMs: number | undefined;
  readonly issuedAtMs: number | undefined;
}

/**
 * Returns the claims of a token with a valid signature.
 * @throws PlatformError PLATFORM_RESPONSE_INVALID if the signature is invalid; whatever fetching the keys threw
 */
export type TokenReader = (token: Secret) => Promise<TokenClaims>;

const algorithms = ["ES256", "RS256"];

const payloadSchema = z.looseObject({
  exp: z.number().positive().max(1e11).optional(),
  iat: z.number().positive().max(1e11).optional(),
  operator: z.looseObject({ coverageTypes: z.array(z.unknown()).optional() }).optional(),
});

/**
 * @param keysAt the key set at a URL
 * @throws as `keysAt`
 */
export function tokenReader(
  verification: TokenVerification,
  keysAt: (jwksUrl: string) => CompactVerifyGetKey,
): TokenReader {
  if ("publicKeyPem" in verification) {
    const key = createPublicKey(verification.publicKeyPem);
    return (token) => readClaims(token, () => key);
  }
  const keys = keysAt(verification.jwksUrl);
  return (token) => readClaims(token, keys);
}

async function readClaims(token: Secret, keyFor: CompactVerifyGetKey): Promise<TokenClaims> {
  let payload: unknown;
  try {
    const verified = await compactVerify(token.reveal(), keyFor, { algorithms });
    payload = JSON.parse(new TextDecoder().decode(verified.payload));
  } catch (thrown) {
    if (thrown instanceof PlatformError) throw thrown;
    throw untrusted(codeOf(thrown));
  }
  const claims = payloadSchema.safeParse(payload);
  if (!claims.success) throw untrusted("the claims have an unexpected shape");
  const { exp, iat, operator } = claims.data;
  return {
    coverageTypes: operator?.coverageTypes === undefined ? undefined : coveragesIn(operator.coverageTypes),
    expiresAtMs: exp === undefined ? undefined : exp * 1_000,
    issuedAtMs: iat === undefined ? undefined : iat * 1_000,
  };
}

function coveragesIn(types: readonly unknown[]): Coverage[] {
  return (["g", "jp"] as const).filter((coverage) => types.includes(coverage));
}

/** Only the error's code: its message may quote the token. */
function codeOf(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : "unreadable";
}

function untrusted(why: string): PlatformError {
  return new PlatformError(
    "PLATFORM_RESPONSE_INVALID",
    `auth: the signature of the platform's token is not valid (${why}): the token is forged or the keys are another ` +
      `platform definition's, and nothing in it is used. Check SIMFLEET_JWKS_URL or SIMFLEET_TOKEN_PUBLIC_KEY_FILE.`,
    { operation: "auth" },
  );
}
