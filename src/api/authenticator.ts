/**
 * Turns credentials into a pair, once per call (interface, section 5). When to do so is the pair keeper's business; the
 * permit and the sending are the sender's.
 */
import { PlatformError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import { type CredentialForm, mfaSecretOf, settingsOf } from "./credential-form.ts";
import { oneTimeCode, readBase32 } from "./one-time-code.ts";
import type { AuthInput, AuthOutput } from "./operations/auth.ts";
import type { Pair } from "./pair.ts";
import { lifetimeMs, type RequestedTtl } from "./renewal-timing.ts";
import type { TokenClaims, TokenReader } from "./token-claims.ts";

export class Authenticator {
  readonly #clock: Clock;
  readonly #ttl: RequestedTtl;
  readonly #tokens: TokenReader | undefined;
  readonly #send: (input: AuthInput) => Promise<AuthOutput>;
  #form: CredentialForm;

  constructor(parts: {
    clock: Clock;
    form: CredentialForm;
    ttl: RequestedTtl;
    /** Absent: claims are not used. */
    tokens: TokenReader | undefined;
    send: (input: AuthInput) => Promise<AuthOutput>;
  }) {
    this.#clock = parts.clock;
    this.#form = parts.form;
    this.#ttl = parts.ttl;
    this.#tokens = parts.tokens;
    this.#send = parts.send;
  }

  /** Takes other credentials for the next authentication. */
  replaceForm(form: CredentialForm): void {
    this.#form = form;
  }

  /**
   * Obtains a pair.
   * @throws PlatformError, never with `mayHaveApplied`: the call that waits for the pair was not sent
   */
  async authenticate(): Promise<Pair> {
    const form = this.#form;
    const askedAtMs = this.#clock.monotonicMs();
    try {
      const grant = await this.#send(this.#inputOf(form));
      const claims = await this.#tokens?.read(grant.token);
      const leftMs = Math.min(lifetimeMs(this.#ttl), this.#lifetimeIn(claims));
      const endsAtMs = askedAtMs + leftMs;
      const expiresAtMs = Math.round(this.#clock.wallMs() + endsAtMs - this.#clock.monotonicMs());
      return { ...grant, coverageTypes: claims?.coverageTypes, endsAtMs, expiresAtMs };
    } catch (thrown) {
      throw thrown instanceof PlatformError ? inWordsOfAuth(thrown, form) : thrown;
    }
  }

  #inputOf(form: CredentialForm): AuthInput {
    const mfaKey = readBase32(mfaSecretOf(form)?.reveal() ?? "");
    const { field, seconds } = this.#ttl;
    return {
      form,
      oneTimeCode: mfaKey === undefined ? undefined : oneTimeCode(mfaKey, { wallMs: this.#clock.wallMs() }),
      ttl: field === undefined || seconds === undefined ? undefined : { field, seconds },
    };
  }

  /** How long the token says that it holds; by its own two times where this machine's clock contradicts them. */
  #lifetimeIn(claims: TokenClaims | undefined): number {
    if (claims?.expiresAtMs === undefined) return Infinity;
    const { expiresAtMs, issuedAtMs } = claims;
    const byOurClockMs = expiresAtMs - this.#clock.wallMs();
    const byItsClockMs = issuedAtMs === undefined ? byOurClockMs : expiresAtMs - issuedAtMs;
    const leftMs = byOurClockMs > 0 ? Math.min(byOurClockMs, byItsClockMs) : byItsClockMs;
    if (leftMs > 0) return leftMs;
    const ended = new Date(expiresAtMs).toISOString();
    throw new PlatformError("PLATFORM_CONTRACT", `auth: the token ended at ${ended}. Is this machine's clock right?`, {
      operation: "auth",
    });
  }
}

function inWordsOfAuth(error: PlatformError, form: CredentialForm): PlatformError {
  const mend = error.code === "PLATFORM_UNAUTHORIZED" ? ` Check ${settingsOf(form)}.` : "";
  return new PlatformError(error.code as ConstructorParameters<typeof PlatformError>[0], error.message + mend, {
    operation: error.operation,
    status: error.status,
    platformCode: error.platformCode,
    mayHaveApplied: false,
    retryAfterMs: error.retryAfterMs,
    bucket: error.bucket,
  });
}
