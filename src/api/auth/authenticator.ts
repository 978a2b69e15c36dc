/**
 * Exchanges credentials for a key and token pair (interface, section 5). Tries the preferred form first; if the
 * platform rejects it, the next one in the list. The pair keeper decides when to authenticate; the sender handles
 * permits and sending.
 */
import { PlatformError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { ClientEvent } from "../client-options.ts";
import { type CredentialForm, mfaSecretOf, settingsOf } from "./credential-form.ts";
import type { CredentialList } from "./credential-list.ts";
import { type Pair, pairOf } from "./pair.ts";
import { oneTimeCode, readBase32 } from "./one-time-code.ts";
import type { AuthInput, AuthOutput } from "../operations/auth.ts";
import { type RequestedTtl, lifetimeMs } from "./renewal-timing.ts";
import type { TokenReader } from "./token-claims.ts";

export class Authenticator {
  readonly #clock: Clock;
  readonly #credentials: CredentialList;
  readonly #ttl: RequestedTtl;
  readonly #tokens: TokenReader | undefined;
  readonly #send: (input: AuthInput) => Promise<AuthOutput>;
  readonly #emit: (event: ClientEvent) => void;
  #used: readonly CredentialForm[] | undefined;

  constructor(deps: {
    clock: Clock;
    credentials: CredentialList;
    ttl: RequestedTtl;
    /** Absent: token claims are ignored. */
    tokens: TokenReader | undefined;
    send: (input: AuthInput) => Promise<AuthOutput>;
    emit: (event: ClientEvent) => void;
  }) {
    this.#clock = deps.clock;
    this.#credentials = deps.credentials;
    this.#ttl = deps.ttl;
    this.#tokens = deps.tokens;
    this.#send = deps.send;
    this.#emit = deps.emit;
  }

  /** Whether the current credentials are the ones that produced the last pair. */
  isUpToDate(): boolean {
    return this.#credentials.current() === this.#used;
  }

  /**
   * Obtains a pair.
   * @throws PlatformError, never with `mayHaveApplied`: the call that waits for the pair was not sent. If all forms
   *   are rejected, the error is that of the last form and names all of them
   */
  async authenticate(): Promise<Pair> {
    const forms = this.#credentials.current();
    const refused: CredentialForm[] = [];
    for (const form of forms) {
      try {
        const pair = await this.authenticateWith(form);
        this.#used = forms;
        return pair;
      } catch (thrown) {
        if (!(thrown instanceof PlatformError)) throw thrown;
        if (thrown.code !== "PLATFORM_UNAUTHORIZED") throw inWordsOfAuth(thrown, "");
        refused.push(form);
        if (form.kind === "auth-key") {
          this.#emit({ type: "auth-key-refused", authKeyId: form.authKeyId, message: thrown.message });
        }
        if (refused.length === forms.length) throw inWordsOfAuth(thrown, hintOf(refused));
      }
    }
    throw new RangeError("a list of credentials is never empty");
  }

  /** Obtains a pair with the given form, ignoring the list. @throws as `authenticate`, with the platform's message */
  async authenticateWith(form: CredentialForm): Promise<Pair> {
    const askedAtMs = this.#clock.monotonicMs();
    const grant = await this.#send(this.#inputOf(form));
    return pairOf(grant, {
      madeWith: form,
      clock: this.#clock,
      tokens: this.#tokens,
      askedAtMs,
      lifetimeMs: lifetimeMs(this.#ttl),
    });
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
}

function hintOf(refused: readonly CredentialForm[]): string {
  const keys = refused.flatMap((form) => (form.kind === "auth-key" ? form.authKeyId : []));
  const all = keys.length > 1 ? ` So were all of ${keys.join(", ")}.` : "";
  const settings = [...new Set(refused.map(settingsOf))];
  return `${all} Check ${settings.join("; or ")}.`;
}

function inWordsOfAuth(error: PlatformError, hint: string): PlatformError {
  return new PlatformError(error.code as ConstructorParameters<typeof PlatformError>[0], error.message + hint, {
    operation: error.operation,
    status: error.status,
    platformCode: error.platformCode,
    mayHaveApplied: false,
    retryAfterMs: error.retryAfterMs,
    bucket: error.bucket,
  });
}
