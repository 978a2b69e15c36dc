/**
 * Renews the token of a pair that still holds, by the deployment's own operation for it, so that the limit on
 * authentications per caller address is not touched. It decides nothing: whoever keeps the pair authenticates anew where
 * this gives none.
 */
import { PlatformError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import type { Clock } from "#core/time.ts";
import { pairOf } from "./grant.ts";
import type { RenewTokenInput } from "./operations/token.ts";
import type { Pair } from "./pair.ts";
import { lifetimeMs, type RequestedTtl } from "./renewal-timing.ts";
import type { TokenReader } from "./token-claims.ts";

/** Answers that no second try would change: the pair has ended, or the operation is not there, or not for us. */
const final = new Set(["PLATFORM_REJECTED", "PLATFORM_UNAUTHORIZED", "PLATFORM_FORBIDDEN", "PLATFORM_CONTRACT"]);

export class TokenRenewal {
  readonly #clock: Clock;
  readonly #ttl: RequestedTtl;
  readonly #tokens: TokenReader | undefined;
  readonly #send: (pair: Pair, input: RenewTokenInput) => Promise<{ readonly token: Secret }>;

  constructor(deps: {
    clock: Clock;
    ttl: RequestedTtl;
    /** Absent: claims are not used. */
    tokens: TokenReader | undefined;
    send: (pair: Pair, input: RenewTokenInput) => Promise<{ readonly token: Secret }>;
  }) {
    this.#clock = deps.clock;
    this.#ttl = deps.ttl;
    this.#tokens = deps.tokens;
    this.#send = deps.send;
  }

  /**
   * The pair with a new token, or undefined where the platform gives none.
   * @throws PlatformError when the platform is away or the quota is spent, which a later try can mend
   */
  async renew(pair: Pair): Promise<Pair | undefined> {
    const askedAtMs = this.#clock.monotonicMs();
    const endMs = lifetimeMs(this.#ttl);
    try {
      const { token } = await this.#send(pair, { operatorId: pair.operatorId, ttlSeconds: endMs / 1_000 });
      // A Secret of its own, so that the retired pair can forget its key while this one's stays watched.
      const grant = { ...pair, token, apiKey: new Secret(pair.apiKey.reveal()) };
      const { madeWith } = pair;
      return await pairOf(grant, { madeWith, clock: this.#clock, tokens: this.#tokens, askedAtMs, lifetimeMs: endMs });
    } catch (thrown) {
      if (thrown instanceof PlatformError && final.has(thrown.code)) return undefined;
      throw thrown;
    }
  }
}
