/**
 * The gateway's own pairs, for tools that authenticate before they call (interface, section 5). Such a pair has the form of
 * the platform's and no value there. It is not stored: its signature proves it, with a key that all gateways on one Redis
 * share. Where the gateway has a token, a tool presents it as the secret of its AuthKey or as its password, and the pair
 * then admits its calls; a new token ends all pairs of the old one.
 */
import { createHmac, randomUUID } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import { SimfleetError } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import type { Clock } from "#core/time.ts";

const issuer = "simfleet-gateway";
const lifetime = { min: 180, max: 172_800, usual: 86_400 } as const;

/** Identity of an account. */
export interface Account {
  readonly operatorId: string;
  readonly userName: string | undefined;
  readonly coverageTypes: readonly string[] | undefined;
}

const authRequest = z.looseObject({ authKey: z.string().optional(), password: z.string().optional() });

/** A body of `POST /v1/auth`. @throws SimfleetError REQUEST_INVALID */
export function readAuthRequest(body: string): z.infer<typeof authRequest> {
  const read = authRequest.safeParse(jsonOf(body));
  if (read.success) return read.data;
  throw new SimfleetError("REQUEST_INVALID", "The body must be a JSON object with credentials");
}

function jsonOf(text: string): unknown {
  try {
    return text === "" ? {} : JSON.parse(text);
  } catch {
    return undefined;
  }
}

export class Pairs {
  readonly #key: () => Promise<Uint8Array>;
  readonly #clock: Clock;
  readonly #ttlField: string;

  /** @param options `sharedKey`: that of all gateways; `ttlField`: asks for a lifetime in seconds */
  constructor(options: {
    sharedKey: () => Promise<string>;
    token: Secret | undefined;
    clock: Clock;
    ttlField: string | undefined;
  }) {
    const { sharedKey, token, clock, ttlField = "tokenTimeoutSeconds" } = options;
    this.#key = async () =>
      createHmac("sha256", await sharedKey())
        .update(token?.reveal() ?? "")
        .digest();
    this.#clock = clock;
    this.#ttlField = ttlField;
  }

  /** The response of `POST /v1/auth`. @throws SimfleetError REQUEST_INVALID for a lifetime that the platform does not know */
  async issue(account: Account, request: Readonly<Record<string, unknown>>): Promise<Record<string, string>> {
    const { operatorId, userName } = account;
    const apiKey = `api-${randomUUID()}`;
    const token = await this.#sign(apiKey, account, request);
    return { apiKey, operatorId, token, ...(userName === undefined ? {} : { userName }) };
  }

  /** The response of a call that renews a token; its API key stays. @throws SimfleetError as `issue` */
  async renew(
    apiKey: string,
    account: Account,
    request: Readonly<Record<string, unknown>>,
  ): Promise<{ token: string }> {
    return { token: await this.#sign(apiKey, account, request) };
  }

  /** @throws SimfleetError UNAUTHENTICATED for a pair that is not the gateway's, or has expired */
  async verify(apiKey: string, token: string): Promise<void> {
    const currentDate = new Date(this.#clock.wallMs());
    const { payload } = await jwtVerify(token, await this.#key(), { issuer, algorithms: ["HS256"], currentDate }).catch(
      () => ({ payload: { sub: undefined } }),
    );
    if (payload.sub === apiKey) return;
    throw new SimfleetError("UNAUTHENTICATED", "Invalid or expired API key and token: authenticate again");
  }

  async #sign(apiKey: string, account: Account, request: Readonly<Record<string, unknown>>): Promise<string> {
    const { operatorId, coverageTypes = [] } = account;
    const { [this.#ttlField]: seconds = lifetime.usual } = request;
    if (typeof seconds !== "number" || !(seconds >= lifetime.min && seconds <= lifetime.max)) {
      const range = `${lifetime.min} to ${lifetime.max} seconds`;
      throw new SimfleetError("REQUEST_INVALID", `${this.#ttlField} must be ${range}`);
    }
    const nowSeconds = Math.floor(this.#clock.wallMs() / 1_000);
    return new SignJWT({ operator: { operatorId, coverageTypes: [...coverageTypes] } })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setIssuer(issuer)
      .setSubject(apiKey)
      .setIssuedAt(nowSeconds)
      .setExpirationTime(nowSeconds + Math.floor(seconds))
      .sign(await this.#key());
  }
}
