/**
 * Combines the ways in which a profile gets a fresh pair: an authentication with the list of credentials and, if the
 * deployment has an operation for it, a new token for the current pair.
 */
import { Authenticator } from "./authenticator.ts";
import type { ClientEvent, PlatformClientOptions } from "../client-options.ts";
import type { CredentialForm } from "./credential-form.ts";
import type { CredentialList } from "./credential-list.ts";
import { type AuthInput, type AuthOutput, headerValue } from "../operations/auth.ts";
import { type Pair, type PairSource, pairOf } from "./pair.ts";
import { PlatformError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import { type RequestedTtl, lifetimeMs } from "./renewal-timing.ts";
import type { TokenReader } from "./token-claims.ts";
import { z } from "zod";
import { Secret } from "#core/secret.ts";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";
import { described } from "../operations/described.ts";
import type { Operation } from "../operations/operation.ts";

export function pairSource(
  options: Pick<PlatformClientOptions, "clock" | "ttlField" | "ttlSeconds" | "renewToken">,
  deps: {
    credentials: CredentialList;
    /** Absent: claims are ignored. */
    tokens: TokenReader | undefined;
    emit: (event: ClientEvent) => void;
    authenticate: (input: AuthInput) => Promise<AuthOutput>;
    /** Makes a call with the given pair. */
    callWith: <O>(pair: Pair, operation: Operation<RenewTokenInput, O>, input: RenewTokenInput) => Promise<O>;
  },
): PairSource & Pick<Authenticator, "authenticateWith"> {
  const { clock, ttlField, ttlSeconds: seconds } = options;
  const { credentials, tokens, emit } = deps;
  const ttl = { field: ttlField, seconds };
  const authenticator = new Authenticator({ clock, credentials, ttl, tokens, emit, send: deps.authenticate });
  const authenticate = (): Promise<Pair> => authenticator.authenticate();
  const authenticateWith = (form: CredentialForm): Promise<Pair> => authenticator.authenticateWith(form);
  if (options.renewToken === undefined) return { authenticate, authenticateWith };
  const operation = renewToken(options.renewToken);
  const renewal = new TokenRenewal({
    clock,
    tokens,
    ttl: {
      field: options.renewToken.ttlField,
      seconds,
    },
    send: (pair, input) => deps.callWith(pair, operation, input),
  });
  // Changed credentials take effect through an authentication.
  const renew = (pair: Pair) => (authenticator.isUpToDate() ? renewal.renew(pair) : Promise.resolve(undefined));
  return { authenticate, authenticateWith, renew };
}

// Renews the token of a valid pair with the deployment's own operation for it, so that it does not count toward the
// limit on authentications per caller address. It makes no decisions: if it returns nothing, the pair keeper
// authenticates again.

/** Errors that a retry cannot fix: the pair has expired, or the operation does not exist or is not permitted. */
const final = new Set([
  "PLATFORM_REJECTED",
  "PLATFORM_UNAUTHORIZED",
  "PLATFORM_FORBIDDEN",
  "PLATFORM_RESPONSE_INVALID",
]);

class TokenRenewal {
  readonly #clock: Clock;
  readonly #ttl: RequestedTtl;
  readonly #tokens: TokenReader | undefined;
  readonly #send: (pair: Pair, input: RenewTokenInput) => Promise<{ readonly token: Secret }>;

  constructor(deps: {
    clock: Clock;
    ttl: RequestedTtl;
    /** Absent: claims are ignored. */
    tokens: TokenReader | undefined;
    send: (pair: Pair, input: RenewTokenInput) => Promise<{ readonly token: Secret }>;
  }) {
    this.#clock = deps.clock;
    this.#ttl = deps.ttl;
    this.#tokens = deps.tokens;
    this.#send = deps.send;
  }

  /**
   * The pair with a new token, or undefined if the platform issues none.
   * @throws PlatformError if the platform is unavailable or the quota is exhausted, so that a later attempt can
   *   succeed
   */
  async renew(pair: Pair): Promise<Pair | undefined> {
    const askedAtMs = this.#clock.monotonicMs();
    const endMs = lifetimeMs(this.#ttl);
    try {
      const { token } = await this.#send(pair, { operatorId: pair.operatorId, ttlSeconds: endMs / 1_000 });
      // A separate Secret, so that the retired pair can forget its key while this one stays registered.
      const grant = { ...pair, token, apiKey: new Secret(pair.apiKey.reveal()) };
      const { madeWith } = pair;
      return await pairOf(grant, { madeWith, clock: this.#clock, tokens: this.#tokens, askedAtMs, lifetimeMs: endMs });
    } catch (thrown) {
      if (thrown instanceof PlatformError && final.has(thrown.code)) return undefined;
      throw thrown;
    }
  }
}

// Issues a new token for a valid pair, if the deployment has an operation for it. This spends a quota of the account,
// not the limit on authentications per caller address (interface, section 8, rule 3). The API key does not change.

interface RenewTokenInput {
  readonly operatorId: string;
  /** Sent if the deployment names the field for it. */
  readonly ttlSeconds: number;
}

export function renewToken(description: DeploymentOperation): Operation<RenewTokenInput, { readonly token: Secret }> {
  const { ttlField } = description;
  return {
    ...described<RenewTokenInput>("renewToken", description, { operatorId: (input) => input.operatorId }),
    replay: "safe",
    body: ({ ttlSeconds }) => (ttlField === undefined ? {} : { [ttlField]: ttlSeconds }),
    output: z.looseObject({ token: headerValue }).transform((record) => ({ token: new Secret(record.token) })),
  };
}
