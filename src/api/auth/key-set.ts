/**
 * The platform's public keys by URL. They are fetched on first use, when older than ten minutes, and when a token names
 * an unknown key. There is one fetch at a time, and none within the cooldown, so that forged key ids cannot cause a
 * flood of requests.
 */
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWSHeaderParameters } from "jose";
import { z } from "zod";
import { PlatformError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import { parseDocumentUrl } from "../http/address.ts";
import type { Transport } from "../http/transport.ts";

type KeyLookup = ReturnType<typeof createLocalJWKSet>;
type Key = Awaited<ReturnType<KeyLookup>>;

const maxAgeMs = 600_000;
const cooldownMs = 30_000;

export class KeySet {
  readonly #clock: Clock;
  readonly #fetch: () => Promise<JSONWebKeySet>;
  #lookup: KeyLookup | undefined;
  #fetchedAtMs = 0;
  #flight: Promise<KeyLookup> | undefined;

  constructor(deps: { clock: Clock; fetch: () => Promise<JSONWebKeySet> }) {
    this.#clock = deps.clock;
    this.#fetch = deps.fetch;
  }

  /**
   * The one key that matches a token's header.
   * @throws whatever fetching threw; jose's JWKSNoMatchingKey and related errors
   */
  async keyFor(header: JWSHeaderParameters): Promise<Key> {
    const isFresh = this.#lookup !== undefined && this.#ageMs() < maxAgeMs;
    const lookup = isFresh && this.#lookup !== undefined ? this.#lookup : await this.#refresh();
    try {
      return await lookup(header);
    } catch (thrown) {
      if (!(thrown instanceof errors.JWKSNoMatchingKey) || this.#ageMs() < cooldownMs) throw thrown;
      return (await this.#refresh())(header);
    }
  }

  #ageMs(): number {
    return this.#clock.monotonicMs() - this.#fetchedAtMs;
  }

  #refresh(): Promise<KeyLookup> {
    this.#flight ??= this.#fetch()
      .then((keys) => {
        this.#lookup = createLocalJWKSet(keys);
        this.#fetchedAtMs = this.#clock.monotonicMs();
        return this.#lookup;
      })
      .finally(() => {
        this.#flight = undefined;
      });
    return this.#flight;
  }
}

const keySetSchema = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) });

/**
 * Creates the function that fetches a key set.
 * @throws ConfigError if the URL is invalid, or plain HTTP to a remote machine
 */
export function keySetFetcher({
  transport,
  url,
  userAgent,
}: {
  transport: Transport;
  url: string;
  userAgent: string;
}): () => Promise<JSONWebKeySet> {
  const { address, path } = parseDocumentUrl(url, "SIMFLEET_JWKS_URL");
  const headers = ["accept", "application/json", "user-agent", userAgent];
  return async () => {
    const answer = await transport.exchange({
      operation: "auth (key set)",
      address,
      method: "GET",
      path,
      headers,
    });
    const facts = { operation: "auth", status: answer.status };
    if (answer.status >= 500) {
      const message = `auth: ${address.host} has no key set at present (${answer.status}).`;
      throw new PlatformError("PLATFORM_UNAVAILABLE", message, facts);
    }
    const keys = answer.status === 200 ? readKeySet(answer.body.toString("utf8")) : undefined;
    if (keys !== undefined) return keys;
    const message = `auth: ${address.host} answered ${answer.status} without a key set. Check ${address.setting}.`;
    throw new PlatformError("PLATFORM_CONTRACT", message, facts);
  };
}

function readKeySet(text: string): JSONWebKeySet | undefined {
  try {
    const parsed = keySetSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
