/**
 * Who may call: the Root user, one sub-user and one AuthKey of the Root user, and the pairs given out to them (interface,
 * sections 2, 3 and 5). A pair is checked by looking it up, not by its signature: the sandbox made it, and the lookup is
 * what keeps the server fast. Accounts can be shared by sandboxes, since a pair works on every base address.
 */
import { randomBytes } from "node:crypto";
import type { JSONWebKeySet } from "jose";
import { type Clock, secondMs } from "#core/time.ts";
import type { Coverage } from "#fleet/profile.ts";
import { Refusal } from "./messages.ts";
import { isOneTimeCode } from "./one-time-code.ts";
import { openTokenSigner, type TokenAlgorithm, type TokenSigner } from "./tokens.ts";

export interface AccountOptions {
  /** Clock of windows, lifetimes, delays and timestamps. */
  readonly clock: Clock;
  /** The operator's coverage types, as the token claims them. Default g. */
  readonly coverageTypes: readonly Coverage[];
  /** Default OP0000000001. */
  readonly operatorId: string;
  /** Default root@example.com. */
  readonly rootEmail: string;
  /** Default sandbox-password. */
  readonly rootPassword: string;
  /** Base32; absent: the Root user has no MFA. */
  readonly rootMfaSecret: string | undefined;
  /** The sub-user's name. Default robot. */
  readonly userName: string;
  /** Default sandbox-password. */
  readonly userPassword: string;
  /** Base32; absent: the sub-user has no MFA. */
  readonly userMfaSecret: string | undefined;
  /** The Root user's AuthKey. Default keyId-sandbox. */
  readonly authKeyId: string;
  /** Default secret-sandbox. */
  readonly authKey: string;
  /** Name of the field of `POST /v1/auth` that asks for a lifetime. Default tokenTimeoutSeconds. */
  readonly ttlField: string;
  /** Lifetime of every pair, whatever was asked for; may be shorter than the platform's minimum. */
  readonly pairTtlSeconds: number | undefined;
  /** Default ES256. */
  readonly tokenAlgorithm: TokenAlgorithm;
}

/** What a client gets for good credentials. */
export interface Pair {
  readonly operatorId: string;
  readonly userName?: string;
  readonly apiKey: string;
  readonly token: string;
}

interface IssuedPair {
  readonly token: string;
  readonly expiresAtMs: number;
}

interface Principal {
  readonly userName?: string;
  readonly mfaSecret: string | undefined;
  readonly isKnown: boolean;
}

/** Bounds of a lifetime (interface, section 8). */
const ttlSeconds = { least: 180, usual: 86_400, most: 172_800 };

const variants = {
  root: ["email", "password"],
  user: ["operatorId", "userName", "password"],
  authKey: ["authKeyId", "authKey"],
} as const;

export class Accounts {
  readonly #options: AccountOptions;
  readonly #signer: TokenSigner;
  readonly #pairs = new Map<string, IssuedPair>();

  constructor(options: AccountOptions, signer: TokenSigner) {
    this.#options = options;
    this.#signer = signer;
  }

  get operatorId(): string {
    return this.#options.operatorId;
  }

  get coverageTypes(): readonly Coverage[] {
    return this.#options.coverageTypes;
  }

  get jwks(): JSONWebKeySet {
    return this.#signer.jwks;
  }

  get publicKeyPem(): string {
    return this.#signer.publicKeyPem;
  }

  /** Pairs that are neither expired nor withdrawn. */
  get livePairs(): number {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#pairs.values()].filter((pair) => pair.expiresAtMs > nowMs).length;
  }

  /** Handles the body of `POST /v1/auth`. @throws Refusal */
  async authenticate(body: Readonly<Record<string, unknown>>): Promise<Pair> {
    const principal = this.#principalOf(body);
    const ttlMs = this.#ttlMsOf(body);
    if (!principal.isKnown) throw new Refusal("authFailed");
    if (principal.mfaSecret !== undefined) this.#checkCode(body["mfaOTPCode"], principal.mfaSecret);
    const { clock, operatorId, coverageTypes } = this.#options;
    const issuedAtMs = clock.wallMs();
    const expiresAtMs = clock.monotonicMs() + ttlMs;
    const apiKey = `api-${randomBytes(24).toString("hex")}`;
    const span = { issuedAtMs, expiresAtMs: issuedAtMs + ttlMs };
    const token = await this.#signer.sign({ operatorId, coverageTypes }, span);
    this.#pairs.set(apiKey, { token, expiresAtMs });
    return {
      operatorId,
      ...(principal.userName === undefined ? {} : { userName: principal.userName }),
      apiKey,
      token,
    };
  }

  /** Lets a call with a valid pair pass. @throws Refusal */
  check(apiKey: string | undefined, token: string | undefined): void {
    if (!apiKey || !token) throw new Refusal("pairMissing");
    const pair = this.#pairs.get(apiKey);
    if (pair?.token !== token) throw new Refusal("pairInvalid");
    if (pair.expiresAtMs <= this.#options.clock.monotonicMs()) throw new Refusal("pairExpired");
  }

  /** Every pair becomes invalid now. */
  expirePairs(): void {
    for (const [apiKey, pair] of this.#pairs) this.#pairs.set(apiKey, { ...pair, expiresAtMs: -Infinity });
  }

  #principalOf(body: Readonly<Record<string, unknown>>): Principal {
    const asked = Object.values(variants).filter((fields) => fields.every((field) => typeof body[field] === "string"));
    const named = new Set<string>(asked.flat());
    const allFields = Object.values(variants).flat();
    if (asked.length !== 1 || allFields.some((field) => body[field] !== undefined && !named.has(field))) {
      throw new Refusal("authVariant");
    }
    const options = this.#options;
    if (asked[0] === variants.authKey) {
      const isKnown = body["authKeyId"] === options.authKeyId && body["authKey"] === options.authKey;
      return { mfaSecret: undefined, isKnown };
    }
    if (asked[0] === variants.root) {
      const isKnown = body["email"] === options.rootEmail && body["password"] === options.rootPassword;
      return { mfaSecret: options.rootMfaSecret, isKnown };
    }
    const isKnown =
      body["operatorId"] === options.operatorId &&
      body["userName"] === options.userName &&
      body["password"] === options.userPassword;
    return { userName: options.userName, mfaSecret: options.userMfaSecret, isKnown };
  }

  #ttlMsOf(body: Readonly<Record<string, unknown>>): number {
    const asked = body[this.#options.ttlField] ?? ttlSeconds.usual;
    const isWithinBounds =
      Number.isInteger(asked) && Number(asked) >= ttlSeconds.least && Number(asked) <= ttlSeconds.most;
    if (!isWithinBounds) throw new Refusal("ttlOutOfBounds");
    return (this.#options.pairTtlSeconds ?? Number(asked)) * secondMs;
  }

  #checkCode(code: unknown, secret: string): void {
    if (code === undefined) throw new Refusal("mfaRequired");
    const isRight = typeof code === "string" && isOneTimeCode(code, secret, this.#options.clock.wallMs());
    if (!isRight) throw new Refusal("mfaFailed");
  }
}

export async function openAccounts(options: AccountOptions): Promise<Accounts> {
  return new Accounts(options, await openTokenSigner(options.tokenAlgorithm));
}
