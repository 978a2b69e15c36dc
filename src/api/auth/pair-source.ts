/**
 * Combines the ways in which a profile gets a fresh pair: an authentication with the list of credentials and, if the
 * deployment has an operation for it, a new token for the current pair.
 */
import { Authenticator } from "./authenticator.ts";
import type { ClientEvent } from "../client-event.ts";
import type { PlatformClientOptions } from "../client-options.ts";
import type { CredentialForm } from "./credential-form.ts";
import type { CredentialList } from "./credential-list.ts";
import type { AuthInput, AuthOutput } from "../operations/auth.ts";
import type { Operation } from "../operations/operation.ts";
import { renewToken, type RenewTokenInput } from "../operations/token.ts";
import type { Pair, PairSource } from "./pair.ts";
import type { TokenReader } from "./token-claims.ts";
import { TokenRenewal } from "./token-renewal.ts";

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
