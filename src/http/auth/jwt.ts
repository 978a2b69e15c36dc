/**
 * Reads the JWTs of an identity provider: signed by one of its keys with one of the configured algorithms (never
 * `none`, never a shared secret), for us, by it, started and not over. The claims count only once all of that holds.
 */
import { createPublicKey } from "node:crypto";
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from "jose";
import type { JwtOptions } from "#config/sections/http.ts";
import { SimfleetError } from "#core/errors.ts";
import { valueIn } from "#core/json.ts";
import { fetchThrough, type OutgoingProxy } from "#core/proxy.ts";
import { type Clock, secondMs } from "#core/time.ts";
import { type Role, roles } from "#fleet/role.ts";
import type { Principal } from "./access.ts";

const toleranceSeconds = 30;
const fetchMs = 5_000;
/** Codes that speak of the token; the others are of the keys, and no fault of the caller. */
const ofTheToken = /^ERR_(?:JWT|JWS|JOSE_ALG|JOSE_NOT_SUPPORTED|JWKS_NO_MATCHING|JWKS_MULTIPLE)/;

export function jwtReader(options: JwtOptions, clock: Clock, proxy?: OutgoingProxy) {
  const { issuer, audience, algorithms, roleClaim } = options;
  const keys = openKeys(options.keys, proxy);

  const verified = async (token: string): Promise<JWTPayload> => {
    const terms: JWTVerifyOptions = {
      issuer,
      audience,
      algorithms: [...algorithms],
      clockTolerance: toleranceSeconds,
      requiredClaims: ["exp", "nbf"],
      currentDate: new Date(clock.wallMs()),
    };
    try {
      const { payload } =
        typeof keys === "function" ? await jwtVerify(token, keys, terms) : await jwtVerify(token, keys, terms);
      return payload;
    } catch (thrown) {
      // Only the code: the message of some quotes the token.
      if (thrown instanceof errors.JOSEError && ofTheToken.test(thrown.code)) {
        throw new SimfleetError("UNAUTHENTICATED", `The JWT is not valid (${describeError(thrown)})`);
      }
      if (thrown instanceof TypeError && typeof keys !== "function") {
        throw new SimfleetError("UNAUTHENTICATED", "The JWT is not signed with an algorithm of the configured key");
      }
      throw new SimfleetError("OVERLOADED", "The keys of the JWT's issuer cannot be fetched at the moment", {
        cause: thrown,
      });
    }
  };

  /** @throws SimfleetError UNAUTHENTICATED, or FORBIDDEN when it names no role of ours; OVERLOADED without the keys */
  const principalOf = async (token: string): Promise<Principal> => {
    const payload = await verified(token);
    const { sub, exp = 0 } = payload; // it has an end, or it would not have been verified
    if (sub === undefined || sub === "") throw new SimfleetError("UNAUTHENTICATED", "The JWT has no subject (sub)");
    const role = roleIn(payload, options);
    if (role === undefined) {
      throw new SimfleetError(
        "FORBIDDEN",
        `The JWT of ${sub} has no role: no value of its claim ${roleClaim.join(".")} is in http.jwt.roles`,
      );
    }
    return { name: sub, role, kind: "jwt", expiresAtMs: (exp + toleranceSeconds) * secondMs };
  };

  return { principalOf };
}

function roleIn(payload: JWTPayload, { roleClaim, roles: given }: JwtOptions): Role | undefined {
  const named = [valueIn(payload, roleClaim)].flat().filter((value) => typeof value === "string");
  const held = new Set(named.map((value) => (Object.hasOwn(given, value) ? given[value] : undefined)));
  return roles.findLast((role) => held.has(role));
}

function describeError(thrown: errors.JOSEError): string {
  const claim = thrown instanceof errors.JWTClaimValidationFailed ? ` ${thrown.claim}` : "";
  return `${thrown.code}${claim}`;
}

function openKeys(keys: JwtOptions["keys"], proxy: OutgoingProxy | undefined) {
  if ("jwksUrl" in keys) {
    return createRemoteJWKSet(new URL(keys.jwksUrl), {
      timeoutDuration: fetchMs,
      ...(proxy && { [customFetch]: (url, init) => fetchThrough(proxy, url, init, fetchMs) }),
    });
  }
  return createPublicKey(keys.publicKeyPem);
}
