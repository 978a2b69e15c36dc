/**
 * The ways in which a profile gets a fresh pair (interface, section 5): an authentication with the list of credentials, the
 * preferred form first, and the next one if the platform rejects it; and, if the deployment has an operation for it, a new
 * token for the current pair. The pair keeper decides when; the sender handles permits and sending.
 */
import { z } from "zod";
import { PlatformError } from "#core/errors.ts";
import { oneTimeCode, readBase32 } from "#core/one-time-code.ts";
import { Secret } from "#core/secret.ts";
import { type Credentials, areSameForms } from "#fleet/credentials.ts";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";
import type { ClientEvent, PlatformClientOptions } from "../client-options.ts";
import { type AuthInput, type AuthOutput, headerValue } from "../operations/auth.ts";
import { described } from "../operations/described.ts";
import type { Operation } from "../operations/operation.ts";
import { type Pair, type PairSource, pairOf } from "./pair.ts";
import { lifetimeMs } from "./renewal-timing.ts";
import type { TokenReader } from "./token-claims.ts";

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

/** @returns `authenticateWith` obtains a pair with one form, ignoring the list, and throws the platform's message */
export function pairSource(
  options: Pick<PlatformClientOptions, "clock" | "credentials" | "ttlField" | "ttlSeconds" | "renewToken">,
  { tokens, emit, send, callWith }: SourceDeps,
): PairSource & { readonly authenticateWith: (form: Credentials) => Promise<Pair> } {
  const { clock, credentials, ttlField: field, ttlSeconds: seconds, renewToken: renewal } = options;
  const ttl = field === undefined || seconds === undefined ? undefined : { field, seconds };
  /** The credentials that produced the last pair. */
  let used: readonly Credentials[] = [];

  const authenticateWith = async (form: Credentials): Promise<Pair> => {
    const askedAtMs = clock.monotonicMs();
    const mfaKey = form.kind === "auth-key" ? undefined : readBase32(form.mfaSecret?.reveal() ?? "");
    // A code rejected at the boundary of two steps is not retried: every call that waits for the pair would wait for the
    // next step, 30 s at most.
    const code = mfaKey === undefined ? undefined : oneTimeCode(mfaKey, { wallMs: clock.wallMs() });
    const grant = await send({ form, oneTimeCode: code, ttl });
    const lifetime = lifetimeMs({ field, seconds });
    return pairOf(grant, { madeWith: form, clock, tokens, askedAtMs, lifetimeMs: lifetime });
  };

  const authenticate = async (): Promise<Pair> => {
    const forms = credentials();
    const refused: Credentials[] = [];
    for (const form of forms) {
      try {
        const pair = await authenticateWith(form);
        used = forms;
        return pair;
      } catch (thrown) {
        if (!(thrown instanceof PlatformError)) throw thrown;
        if (thrown.code !== "PLATFORM_UNAUTHORIZED") throw inWordsOfAuth(thrown, "");
        refused.push(form);
        const { message } = thrown;
        if (form.kind === "auth-key") emit({ type: "auth-key-refused", authKeyId: form.authKeyId, message });
        if (refused.length === forms.length) throw inWordsOfAuth(thrown, hintOf(refused));
      }
    }
    throw new RangeError("a list of credentials is never empty");
  };

  if (renewal === undefined) return { authenticate, authenticateWith };
  const operation = renewToken(renewal);
  const renew = async (pair: Pair): Promise<Pair | undefined> => {
    // Changed credentials take effect through an authentication.
    if (!areSameForms(credentials(), used)) return undefined;
    const askedAtMs = clock.monotonicMs();
    const lifetime = lifetimeMs({ field: renewal.ttlField, seconds });
    try {
      const { operatorId, madeWith } = pair;
      const { token } = await callWith(pair, operation, { operatorId, ttlSeconds: lifetime / 1_000 });
      // A separate Secret, so that the retired pair can forget its key while this one stays registered.
      const grant = { ...pair, token, apiKey: new Secret(pair.apiKey.reveal()) };
      return await pairOf(grant, { madeWith, clock, tokens, askedAtMs, lifetimeMs: lifetime });
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

function hintOf(refused: readonly Credentials[]): string {
  const keys = refused.flatMap((form) => (form.kind === "auth-key" ? form.authKeyId : []));
  const all = keys.length > 1 ? ` So were all of ${keys.join(", ")}.` : "";
  return `${all} Check ${[...new Set(refused.map(({ kind }) => settings[kind]))].join("; or ")}.`;
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
