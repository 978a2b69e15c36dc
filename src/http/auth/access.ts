/**
 * Identifies a caller by a bearer token: either one of our tokens, stored only as its SHA-256, or a JWT of an identity
 * provider (jwt.ts). Every token is compared with every hash in constant time, so that the response time reveals
 * nothing. Roles are checked in guard.ts.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { TokenOptions } from "#config/sections/http.ts";
import { SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { JwtReader } from "./jwt.ts";
import type { Principal } from "./principal.ts";

interface KnownToken extends Omit<Principal, "expiresAtMs"> {
  readonly sha256: Buffer;
  readonly expiresAtMs: number | undefined;
}

export class Access {
  readonly #tokens: readonly KnownToken[];
  readonly #jwt: JwtReader | undefined;
  readonly #clock: Clock;

  /** @param parts `adminToken` in clear: it comes from a secret of the configuration or of the data directory */
  constructor(deps: {
    tokens: readonly TokenOptions[];
    adminToken: string | undefined;
    jwt: JwtReader | undefined;
    clock: Clock;
  }) {
    const tokens = deps.tokens.map((token): KnownToken => {
      return { ...token, kind: "token", sha256: Buffer.from(token.sha256, "hex") };
    });
    if (deps.adminToken !== undefined) {
      const sha256 = digestOf(deps.adminToken);
      tokens.push({ name: "admin", role: "admin", kind: "admin-token", sha256, expiresAtMs: undefined });
    }
    this.#tokens = tokens;
    this.#jwt = deps.jwt;
    this.#clock = deps.clock;
  }

  /**
   * Returns the caller that an `Authorization` header identifies.
   * @throws SimfleetError UNAUTHENTICATED; FORBIDDEN for a JWT without a known role
   */
  async principalOf(authorization: string | undefined): Promise<Principal> {
    const [, token] = /^Bearer +([A-Za-z0-9._~+/=-]{1,8192})$/i.exec(authorization ?? "") ?? [];
    if (token === undefined) {
      throw new SimfleetError("UNAUTHENTICATED", "A token is required: send the header Authorization: Bearer TOKEN");
    }
    const known = this.#bearerOf(token);
    if (known !== undefined) return known;
    if (this.#jwt !== undefined && token.split(".").length === 3) return this.#jwt.principalOf(token);
    throw new SimfleetError("UNAUTHENTICATED", "Invalid or expired token");
  }

  #bearerOf(token: string): Principal | undefined {
    const digest = digestOf(token);
    let bearer: KnownToken | undefined;
    for (const known of this.#tokens) {
      if (timingSafeEqual(digest, known.sha256)) bearer = known;
    }
    if (bearer === undefined || (bearer.expiresAtMs ?? Infinity) <= this.#clock.wallMs()) return undefined;
    const { name, role, kind, expiresAtMs } = bearer;
    return { name, role, kind, ...(expiresAtMs === undefined ? {} : { expiresAtMs }) };
  }
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
