/** Signs the tokens of pairs with a key generated at startup, and publishes the public key as JWKS. */
import { exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from "jose";
import { secondMs } from "#core/time.ts";
import type { Coverage } from "#fleet/profile.ts";

interface TokenClaims {
  readonly operatorId: string;
  readonly coverageTypes: readonly Coverage[];
}

export interface TokenSigner {
  readonly jwks: JSONWebKeySet;
  /** A JSON Web Token whose payload holds `operator: {operatorId, coverageTypes}`, `iat` and `exp`. */
  sign(claims: TokenClaims, span: { issuedAtMs: number; expiresAtMs: number }): Promise<string>;
}

const keyId = "sandbox-1";

export async function openTokenSigner(algorithm: "ES256" | "RS256"): Promise<TokenSigner> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: keyId, alg: algorithm, use: "sig" };
  let serial = 0;
  return {
    jwks: { keys: [jwk] },
    sign: (operator, span) => {
      serial += 1;
      return new SignJWT({ operator })
        .setProtectedHeader({ alg: algorithm, kid: keyId, typ: "JWT" })
        .setJti(`sandbox-${serial}`)
        .setIssuedAt(Math.floor(span.issuedAtMs / secondMs))
        .setExpirationTime(Math.floor(span.expiresAtMs / secondMs))
        .sign(privateKey);
    },
  };
}
