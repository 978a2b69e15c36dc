/**
 * The platform's public keys by URL. They are fetched on first use, when older than ten minutes, and when a token names
 * an unknown key. There is one fetch at a time, and none within half a minute of the last success, so that forged key
 * ids cannot cause a flood of requests. jose decides when to fetch; the platform's own transport sends the request, so
 * that its limits hold.
 */
import { type CompactVerifyGetKey, createRemoteJWKSet, customFetch } from "jose";
import { z } from "zod";
import { PlatformError } from "#core/errors.ts";
import { minuteMs, secondMs } from "#core/time.ts";
import { parseDocumentUrl } from "../http/address.ts";
import type { Transport } from "../http/transport.ts";

const keySetSchema = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) });

/**
 * A lookup of the key that matches a token's header.
 * @throws ConfigError if the URL is invalid, or plain HTTP to a remote machine; the lookup throws PlatformError if the
 *   keys cannot be fetched, and jose's JWKSNoMatchingKey and related errors
 */
export function remoteKeySet(transport: Transport, url: string, userAgent: string): CompactVerifyGetKey {
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
    if (answer.status === 200 && isKeySet(text)) return new Response(text);
    const message = `auth: ${address.host} returned ${answer.status} without a key set. Check ${address.setting}.`;
    throw new PlatformError("PLATFORM_RESPONSE_INVALID", message, facts);
  };
  const options = { cacheMaxAge: 10 * minuteMs, cooldownDuration: 30 * secondMs, [customFetch]: fetchKeys };
  // Made for the first token: it loads much of Node.js.
  let keys: CompactVerifyGetKey | undefined;
  return (...of) => (keys ??= createRemoteJWKSet(new URL(url), options))(...of);
}

function isKeySet(text: string): boolean {
  try {
    return keySetSchema.safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
}
