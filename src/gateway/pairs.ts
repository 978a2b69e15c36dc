/**
 * The gateway's own pairs, for tools that authenticate before they call (interface, section 5). Such a pair has the
 * form of the platform's and no value there. It is not stored: its signature proves it, with a key that all gateways on
 * one Redis share. Where the gateway has a token, a tool presents it as the secret of its AuthKey or as its password,
 * and the pair then admits its calls; a new token ends all pairs of the old one.
 */
import { createHmac, randomUUID } from "node:crypto";
import { jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import type { PlatformClient } from "#api/client.ts";
import { SimfleetError } from "#core/errors.ts";
import { jsonIn } from "#core/json.ts";
import type { Secret } from "#core/secrets/secret.ts";
import type { Clock } from "#core/time.ts";

const issuer = "simfleet-gateway";
/** Lifetime of a pair, in seconds. */
const lifetime = z.number().min(180).max(172_800).default(86_400);

type Account = Pick<Awaited<ReturnType<PlatformClient["whoAmI"]>>, "operatorId" | "userName" | "coverageTypes">;

const authRequest = z.looseObject({ authKey: z.string().optional(), password: z.string().optional() });

/** A body of `POST /v1/auth`. @throws SimfleetError REQUEST_INVALID */
export function readAuthRequest(body: string): z.infer<typeof authRequest> {
  const { data } = authRequest.safeParse(body === "" ? {} : jsonIn(body));
  if (data !== undefined) return data;
  throw new SimfleetError("REQUEST_INVALID", "The body must be a JSON object with credentials");
}

export interface PairOptions {
  readonly clock: Clock;
  /** Token that callers present. Absent: none is needed. */
  readonly token: Secret | undefined;
  /** The field of an authentication request that asks for the pair's lifetime, in seconds. */
  readonly ttlField: string | undefined;
  /** Signs the pairs; the same for all gateways on one Redis. */
  readonly sharedKey: () => Promise<string>;
}

export function openPairs({ clock, token, ttlField = "tokenTimeoutSeconds", sharedKey }: PairOptions) {
  const key = async (): Promise<Uint8Array> =>
    createHmac("sha256", await sharedKey())
      .update(token?.reveal() ?? "")
      .digest();
  return {
    /**
     * Makes the response of `POST /v1/auth`, or a new token for an API key.
     * @throws SimfleetError REQUEST_INVALID for a lifetime that the platform does not know
     */
    async issue(account: Account, request: Readonly<Record<string, unknown>>, apiKey = `api-${randomUUID()}`) {
      const { operatorId, userName, coverageTypes = [] } = account;
      const { data: seconds } = lifetime.safeParse(request[ttlField]);
      if (seconds === undefined)
        throw new SimfleetError("REQUEST_INVALID", `${ttlField} must be 180 to 172800 seconds`);
      const nowSeconds = Math.floor(clock.wallMs() / 1_000);
      const issued = await new SignJWT({ operator: { operatorId, coverageTypes } })
        .setProtectedHeader({ alg: "HS256", typ: "JWT" })
        .setIssuer(issuer)
        .setSubject(apiKey)
        .setIssuedAt(nowSeconds)
        .setExpirationTime(nowSeconds + Math.floor(seconds))
        .sign(await key());
      return { operatorId, userName, apiKey, token: issued };
    },

    /** @throws SimfleetError UNAUTHENTICATED for a pair that is not the gateway's, or has expired */
    async verify(apiKey: string, pairToken: string): Promise<void> {
      const options = { issuer, algorithms: ["HS256"], currentDate: new Date(clock.wallMs()) };
      const verified = await jwtVerify(pairToken, await key(), options).catch(() => undefined);
      if (verified?.payload.sub === apiKey) return;
      throw new SimfleetError("UNAUTHENTICATED", "Invalid or expired API key and token: authenticate again");
    },
  };
}
