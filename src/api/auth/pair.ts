/**
 * The key and token pair (interface, section 2), and how a profile gets a fresh one (section 5): by an authentication
 * with the list of credentials, the preferred form first, and the next if the platform rejects it; or, if the platform
 * definition has an operation for it, by a new token for the current pair. The pair keeper decides when.
 */
import { z } from "zod";
import { PlatformError } from "#core/errors.ts";
import { oneTimeCode, readBase32 } from "#core/secrets/one-time-code.ts";
import { Secret } from "#core/secrets/secret.ts";
import type { Clock } from "#core/time.ts";
import { type Credentials, areSameForms } from "#fleet/credentials.ts";
import type { Coverage } from "#fleet/profile.ts";
import type { ClientEvent, PlatformClientOptions } from "../client-options.ts";
import { type AuthInput, type AuthOutput, headerValue } from "../operations/auth.ts";
import { describedOperation } from "../operations/described.ts";
import type { Operation } from "../operations/operation.ts";
import type { TokenClaims, TokenReader } from "./token-claims.ts";

/** The result of one authentication; kept in memory only. */
export interface Pair extends AuthOutput {
  /** The credentials that the pair was issued for. */
  readonly madeWith: Credentials;
  /** From the token's verified claims; undefined if they are not verified or contain none. */
  readonly coverageTypes: readonly Coverage[] | undefined;
  /** Monotonic instant at which the pair expires. */
  readonly endsAtMs: number;
  /** The same instant on the wall clock. */
  readonly expiresAtMs: number;
}

export type PairSource = ReturnType<typeof pairSource>;

/** Errors that a retry cannot fix: the pair has expired, or the operation does not exist or is not permitted. */
const final = new Set([
  "PLATFORM_REJECTED",
  "PLATFORM_UNAUTHORIZED",
  "PLATFORM_FORBIDDEN",
  "PLATFORM_RESPONSE_INVALID",
]);

interface SourceDeps {
  /** Key that verifies token claims. Absent: claims are ignored. */
  readonly tokens: TokenReader | undefined;
  readonly emit: (event: ClientEvent) => void;
  readonly send: (input: AuthInput) => Promise<AuthOutput>;
  /** Makes a call with the given pair. */
  readonly callWith: <O>(pair: Pair, operation: Operation<RenewTokenInput, O>, input: RenewTokenInput) => Promise<O>;
}

export function pairSource(
  options: Pick<PlatformClientOptions, "clock" | "credentials" | "ttlField" | "ttlSeconds" | "renewToken">,
  { tokens, emit, send, callWith }: SourceDeps,
) {
  const { clock, credentials, ttlField: field, ttlSeconds: seconds, renewToken: renewal } = options;
  const ttl = field === undefined || seconds === undefined ? undefined : { field, seconds };
  /** The credentials that produced the last pair. */
  let used: readonly Credentials[] = [];

  /** Obtains a pair with one form, ignoring the list. @throws the platform's message */
  const authenticateWith = async (form: Credentials): Promise<Pair> => {
    const askedAtMs = clock.monotonicMs();
    const mfaKey = form.kind === "auth-key" ? undefined : readBase32(form.mfaSecret?.reveal() ?? "");
    // A code rejected at the boundary of two steps is not retried: every call that waits for the pair would wait for
    // the next step, 30 s at most.
    const code = mfaKey === undefined ? undefined : oneTimeCode(mfaKey, { wallMs: clock.wallMs() });
    const grant = await send({ form, oneTimeCode: code, ttl });
    return createPair(grant, { madeWith: form, clock, tokens, askedAtMs, maxMs: lifetimeMs({ field, seconds }) });
  };

  /**
   * @throws PlatformError, never with `mayHaveApplied`: the call that waits for the pair was not sent. If all forms are
   *   rejected, the error is that of the last form and names all of them
   */
  const authenticate = async (): Promise<Pair> => {
    const forms = credentials();
    const rejected: Credentials[] = [];
    for (const form of forms) {
      try {
        const pair = await authenticateWith(form);
        used = forms;
        return pair;
      } catch (thrown) {
        if (!(thrown instanceof PlatformError)) throw thrown;
        if (thrown.code !== "PLATFORM_UNAUTHORIZED") throw inWordsOfAuth(thrown, "");
        rejected.push(form);
        const { message } = thrown;
        if (form.kind === "auth-key") emit({ type: "auth-key-rejected", authKeyId: form.authKeyId, message });
        if (rejected.length === forms.length) throw inWordsOfAuth(thrown, describeFix(rejected));
      }
    }
    throw new RangeError("a list of credentials is never empty");
  };

  if (renewal === undefined) return { authenticate, authenticateWith };
  const operation = renewToken(renewal);
  /** The pair, token renewed; undefined if the platform rejects. Absent: unsupported. @throws if a retry can succeed */
  const renew = async (pair: Pair): Promise<Pair | undefined> => {
    // Changed credentials take effect through an authentication.
    if (!areSameForms(credentials(), used)) return undefined;
    const askedAtMs = clock.monotonicMs();
    const maxMs = lifetimeMs({ field: renewal.ttlField, seconds });
    try {
      const { operatorId, madeWith } = pair;
      const wanted = renewal.ttlField === undefined ? undefined : { field: renewal.ttlField, seconds: maxMs / 1_000 };
      const { token } = await callWith(pair, operation, { operatorId, ttl: wanted });
      // A separate Secret, so that the retired pair can forget its key while this one stays registered.
      const grant = { ...pair, token, apiKey: new Secret(pair.apiKey.reveal()) };
      return await createPair(grant, { madeWith, clock, tokens, askedAtMs, maxMs });
    } catch (thrown) {
      if (thrown instanceof PlatformError && final.has(thrown.code)) return undefined;
      throw thrown;
    }
  };
  return { authenticate, authenticateWith, renew };
}

/** The variables that configure a rejected form. */
const settings: Readonly<Record<Credentials["kind"], string>> = {
  "auth-key": "SIMFLEET_AUTH_KEY_ID and SIMFLEET_AUTH_KEY",
  root: "SIMFLEET_EMAIL, SIMFLEET_PASSWORD and, with MFA, SIMFLEET_MFA_SECRET",
  "sub-user": "SIMFLEET_OPERATOR_ID, SIMFLEET_USER_NAME, SIMFLEET_PASSWORD and, with MFA, SIMFLEET_MFA_SECRET",
};

function describeFix(rejected: readonly Credentials[]): string {
  const keys = rejected.flatMap((form) => (form.kind === "auth-key" ? form.authKeyId : []));
  const all = keys.length > 1 ? ` So were all of ${keys.join(", ")}.` : "";
  return `${all} Check ${[...new Set(rejected.map(({ kind }) => settings[kind]))].join("; or ")}.`;
}

function inWordsOfAuth(error: PlatformError, hint: string): PlatformError {
  const code = error.code as ConstructorParameters<typeof PlatformError>[0];
  const { operation, status, platformCode, retryAfterMs, bucket } = error;
  return new PlatformError(code, error.message + hint, { operation, status, platformCode, retryAfterMs, bucket });
}

// Issues a new token for a valid pair, if the platform definition has an operation for it. This spends a quota of the
// account, not the limit on authentications per address (interface, section 8, rule 3). The API key does not change.

type RenewTokenInput = Pick<AuthInput, "ttl"> & { readonly operatorId: string };

export const renewToken = describedOperation("renewToken", {
  fillings: { operatorId: ({ operatorId }: RenewTokenInput) => operatorId },
  body: ({ ttl }) => (ttl === undefined ? {} : { [ttl.field]: ttl.seconds }),
  output: z.looseObject({ token: headerValue }).transform((record) => ({ token: new Secret(record.token) })),
});

/** Default lifetime of a pair (interface, section 8). */
const defaultTtlSeconds = 86_400;

/**
 * Lifetime of a pair as far as the request shows: a lifetime that cannot be requested can only shorten the default.
 * @param of `field` of the authentication request that sets a lifetime; the interface does not show its name
 */
export function lifetimeMs(of: { field: string | undefined; seconds: number | undefined }): number {
  const { field, seconds: wished = defaultTtlSeconds } = of;
  return (field === undefined ? Math.min(wished, defaultTtlSeconds) : wished) * 1_000;
}

/** Unregisters the values of an unused pair from the scrubber. */
export function forget(pair: Pair | undefined): void {
  pair?.apiKey.forget();
  pair?.token.forget();
}

// Turns what the platform granted into a pair, with its expiry from the requested lifetime and the token's own claims.
// Used by authentication and by token renewal.

/**
 * Creates a pair from a grant.
 * @param askedAtMs monotonic instant before the request was sent, since the lifetime may count from there
 * @param tokens absent: claims are ignored
 * @throws PlatformError PLATFORM_RESPONSE_INVALID if the token's signature is invalid or the token has already expired
 */
async function createPair(
  grant: AuthOutput,
  options: {
    madeWith: Credentials;
    clock: Clock;
    tokens: TokenReader | undefined;
    askedAtMs: number;
    maxMs: number;
  },
): Promise<Pair> {
  const { madeWith, clock, tokens, askedAtMs, maxMs } = options;
  const claims = await tokens?.(grant.token);
  const endsAtMs = askedAtMs + Math.min(maxMs, lifetimeIn(claims, clock));
  const expiresAtMs = Math.round(clock.wallMs() + endsAtMs - clock.monotonicMs());
  const { operatorId, userName, apiKey, token } = grant;
  return { operatorId, userName, madeWith, apiKey, token, coverageTypes: claims?.coverageTypes, endsAtMs, expiresAtMs };
}

/** Lifetime according to the token; computed from its own two times if this machine's clock contradicts them. */
function lifetimeIn(claims: TokenClaims | undefined, clock: Clock): number {
  if (claims?.expiresAtMs === undefined) return Infinity;
  const { expiresAtMs, issuedAtMs } = claims;
  const byOurClockMs = expiresAtMs - clock.wallMs();
  const byItsClockMs = issuedAtMs === undefined ? byOurClockMs : expiresAtMs - issuedAtMs;
  const leftMs = byOurClockMs > 0 ? Math.min(byOurClockMs, byItsClockMs) : byItsClockMs;
  if (leftMs > 0) return leftMs;
  const ended = new Date(expiresAtMs).toISOString();
  const message = `auth: the token ended at ${ended}. Check this machine's clock.`;
  throw new PlatformError("PLATFORM_RESPONSE_INVALID", message, { operation: "auth" });
}
