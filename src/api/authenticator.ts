/**
 * Turns credentials into a pair, once per call (interface, section 5): with the preferred form, and where the platform
 * refuses that, with the next one of the list. When to do so is the pair keeper's business; the permit and the sending
 * are the sender's.
 */
import { PlatformError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { ClientEvent } from "./client-event.ts";
import { type CredentialForm, mfaSecretOf, settingsOf } from "./credential-form.ts";
import type { CredentialList } from "./credential-list.ts";
import { pairOf } from "./grant.ts";
import { oneTimeCode, readBase32 } from "./one-time-code.ts";
import type { AuthInput, AuthOutput } from "./operations/auth.ts";
import type { Pair } from "./pair.ts";
import { lifetimeMs, type RequestedTtl } from "./renewal-timing.ts";
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
    /** Absent: claims are not used. */
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

  /** Whether the credentials are those that the last pair was obtained with. */
  isUpToDate(): boolean {
    return this.#credentials.current() === this.#used;
  }

  /**
   * Obtains a pair.
   * @throws PlatformError, never with `mayHaveApplied`: the call that waits for the pair was not sent. Where all forms
   *   are refused, it is of the last one and names them all
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

  /** Obtains a pair with one form, whatever the list has. @throws as `authenticate`, in the platform's words */
  async authenticateWith(form: CredentialForm): Promise<Pair> {
    const askedAtMs = this.#clock.monotonicMs();
    const grant = await this.#send(this.#inputOf(form));
    return pairOf(grant, {
      ...{ madeWith: form, clock: this.#clock, tokens: this.#tokens, askedAtMs },
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

function inWordsOfAuth(error: PlatformError, mend: string): PlatformError {
  return new PlatformError(error.code as ConstructorParameters<typeof PlatformError>[0], error.message + mend, {
    operation: error.operation,
    status: error.status,
    platformCode: error.platformCode,
    mayHaveApplied: false,
    retryAfterMs: error.retryAfterMs,
    bucket: error.bucket,
  });
}
