/**
 * Reads the claims of a token after verifying its signature (interface, section 2): with two fixed algorithms, against
 * the platform's key set or one public key. Expiry is returned but not enforced here, since this machine's clock may be
 * wrong; the pair keeper accounts for the lifetime.
 */
import { createPublicKey } from "node:crypto";
import { compactVerify, type CompactVerifyGetKey, createRemoteJWKSet, customFetch } from "jose";
import { z } from "zod";
import { PlatformError, codeOf } from "#core/errors.ts";
import { jsonIn } from "#core/json.ts";
import type { Secret } from "#core/secrets/secret.ts";
import { minuteMs, secondMs } from "#core/time.ts";
import { parseDocumentUrl } from "../http/address.ts";
import type { Transport } from "../http/transport.ts";

export type TokenVerification = { readonly jwksUrl: string } | { readonly publicKeyPem: string };

export type TokenReader = ReturnType<typeof tokenReader>;
export type TokenClaims = Awaited<ReturnType<TokenReader>>;

const algorithms = ["ES256", "RS256"];

const payloadSchema = z.looseObject({
  exp: z.number().positive().max(1e11).optional(),
  iat: z.number().positive().max(1e11).optional(),
  operator: z.looseObject({ coverageTypes: z.array(z.unknown()).optional() }).optional(),
});

/**
 * @returns reads the claims of a token with a valid signature; throws PlatformError PLATFORM_RESPONSE_INVALID if the
 *   signature is invalid, and whatever fetching the keys threw
 */
export function tokenReader(verification: TokenVerification, transport: Transport, userAgent: string) {
  if ("jwksUrl" in verification) {
    const keys = remoteKeySet(transport, verification.jwksUrl, userAgent);
    return (token: Secret) => readClaims(token, keys);
  }
  const key = createPublicKey(verification.publicKeyPem);
  return (token: Secret) => readClaims(token, () => key);
}

async function readClaims(token: Secret, keyFor: CompactVerifyGetKey) {
  let payload: unknown;
  try {
    const verified = await compactVerify(token.reveal(), keyFor, { algorithms });
    payload = JSON.parse(new TextDecoder().decode(verified.payload));
  } catch (thrown) {
    if (thrown instanceof PlatformError) throw thrown;
    // Its message may quote the token.
    throw untrusted(codeOf(thrown) ?? "unreadable");
  }
  const claims = payloadSchema.safeParse(payload);
  if (!claims.success) throw untrusted("the claims have an unexpected shape");
  const { exp, iat, operator: { coverageTypes: types } = {} } = claims.data;
  return {
    /** Deduplicated, without unknown types; undefined if the token names none. */
    coverageTypes: types && (["g", "jp"] as const).filter((coverage) => types.includes(coverage)),
    expiresAtMs: exp === undefined ? undefined : exp * 1_000,
    issuedAtMs: iat === undefined ? undefined : iat * 1_000,
  };
}

function untrusted(why: string): PlatformError {
  return new PlatformError(
    "PLATFORM_RESPONSE_INVALID",
    `auth: the signature of the platform's token is not valid (${why}): the token is forged or the keys are another ` +
      `platform definition's, and nothing in it is used. Check SIMFLEET_JWKS_URL or SIMFLEET_TOKEN_PUBLIC_KEY_FILE.`,
    { operation: "auth" },
  );
}

const keySetSchema = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) });

/**
 * The platform's public keys by URL. They are fetched on first use, when older than ten minutes, and when a token names
 * an unknown key. There is one fetch at a time, and none within half a minute of the last success, so that forged key
 * ids cannot cause a flood of requests. jose decides when to fetch; the platform's own transport sends the request, so
 * that its limits hold.
 * @returns the lookup, which throws PlatformError if the keys cannot be fetched, and jose's errors
 */
function remoteKeySet(transport: Transport, url: string, userAgent: string): CompactVerifyGetKey {
  const { address, path } = parseDocumentUrl(url, "SIMFLEET_JWKS_URL");
  const headers = ["accept", "application/json", "user-agent", userAgent];
  // It passes a signal for its own timeout; the transport's limits are there already, and their errors name the host.
  const fetchKeys = async (): Promise<Response> => {
    const answer = await transport.exchange({ operation: "auth (key set)", address, method: "GET", path, headers });
    const facts = { operation: "auth", status: answer.status };
    if (answer.status >= 500) {
      const message = `auth: ${address.host} has no key set at present (${answer.status}).`;
      throw new PlatformError("PLATFORM_UNAVAILABLE", message, facts);
    }
    const text = answer.body.toString("utf8");
    if (answer.status === 200 && keySetSchema.safeParse(jsonIn(text)).success) return new Response(text);
    const message = `auth: ${address.host} returned ${answer.status} without a key set. Check ${address.setting}.`;
    throw new PlatformError("PLATFORM_RESPONSE_INVALID", message, facts);
  };
  const options = { cacheMaxAge: 10 * minuteMs, cooldownDuration: 30 * secondMs, [customFetch]: fetchKeys };
  // Made for the first token: it loads much of Node.js.
  let keys: CompactVerifyGetKey | undefined;
  return (...of) => (keys ??= createRemoteJWKSet(new URL(url), options))(...of);
}
