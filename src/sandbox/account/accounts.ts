/**
 * The principals that may call: the Root user and one sub-user, by password or AuthKey (interface, sections 2, 3 and
 * 5), and the pairs they get. A pair is validated by a lookup, not by its signature: the sandbox created it, and the lookup
 * keeps the server fast.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { type CryptoKey, exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from "jose";
import { z } from "zod";
import { oneTimeCode, readBase32 } from "#core/one-time-code.ts";
import { secondMs } from "#core/time.ts";
import type { SandboxOptions } from "../options.ts";
import { Refusal, type RefusalName } from "../refusals.ts";

type Body = Readonly<Record<string, unknown>>;

/** The holder of a pair. */
export interface Holder {
  readonly apiKey: string;
  /** User of the platform. Absent: the Root user. */
  readonly userName: string | undefined;
  /** The AuthKey that the pair was obtained with, if any. */
  readonly authKeyId: string | undefined;
}

/** A renewed pair has several tokens; each remains valid until it expires, for the sake of calls in flight. */
interface IssuedPair {
  readonly holder: Holder;
  readonly tokens: { readonly text: string; expiresAtMs: number }[];
}

type Principal = Omit<Holder, "apiKey">;

/** Lifetime of a pair (interface, section 8). */
const ttlSeconds = z.int().min(180).max(172_800).default(86_400);
/** Algorithm and ID of the key that signs the tokens. */
const alg = "ES256";
const keyId = "sandbox-1";

/** The forms of credentials: exactly one must be complete, and no other partly given. */
const forms = {
  root: ["email", "password"],
  user: ["operatorId", "userName", "password"],
  authKey: ["authKeyId", "authKey"],
} as const;

export class Accounts {
  readonly jwks: JSONWebKeySet;
  readonly authKeys: AuthKeys;
  readonly #options: SandboxOptions;
  readonly #privateKey: CryptoKey;
  readonly #pairs = new Map<string, IssuedPair>();

  constructor(options: SandboxOptions, { privateKey, jwks }: { privateKey: CryptoKey; jwks: JSONWebKeySet }) {
    this.jwks = jwks;
    this.#privateKey = privateKey;
    this.authKeys = new AuthKeys(options);
    this.#options = options;
  }

  /** Pairs that are neither expired nor revoked. */
  get livePairs(): number {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#pairs.values()].filter(({ tokens }) => tokens.some((token) => token.expiresAtMs > nowMs)).length;
  }

  /** Handles the body of `POST /v1/auth`. @throws Refusal */
  async authenticate(body: Body) {
    const principal = this.#principalOf(body);
    const ttlMs = ttlMsOf(body);
    if (principal === undefined) throw new Refusal("authFailed");
    const { userName, authKeyId } = principal;
    if (authKeyId === undefined) this.#checkCode(body["mfaOTPCode"]);
    else this.authKeys.noteUse(authKeyId);
    const apiKey = `api-${randomBytes(24).toString("hex")}`;
    const token = await this.#issue({ apiKey, ...principal }, ttlMs);
    return { operatorId: this.#options.operatorId, userName, apiKey, token };
  }

  /** Issues another token for the API key of a valid pair. @throws Refusal */
  renew(holder: Holder, body: Body): Promise<string> {
    return this.#issue(holder, ttlMsOf(body));
  }

  /** Checks that a pair is valid. @throws Refusal */
  check(apiKey: string | undefined, text: string | undefined, whenExpired: RefusalName = "pairExpired"): Holder {
    if (!apiKey || !text) throw new Refusal("pairMissing");
    const pair = this.#pairs.get(apiKey);
    const token = pair?.tokens.find((known) => known.text === text);
    if (pair === undefined || token === undefined) throw new Refusal("pairInvalid");
    if (token.expiresAtMs <= this.#options.clock.monotonicMs()) throw new Refusal(whenExpired);
    return pair.holder;
  }

  /**
   * Checks that the holder of a pair may manage the AuthKeys of a sub-user or, without a name, of the Root user.
   * @throws Refusal
   */
  checkKeyAccess(holder: Holder, userName: string | undefined): void {
    if (holder.userName !== undefined && holder.userName !== userName) throw new Refusal("keysForbidden");
    if (userName !== undefined && userName !== this.#options.userName) throw new Refusal("userUnknown");
  }

  /** Revokes an AuthKey: authentication with it fails from now on. @throws Refusal if the principal has no such key */
  revoke(userName: string | undefined, authKeyId: string): void {
    this.authKeys.revoke(userName, authKeyId);
    if (!this.#options.revokeKillsPairs) return;
    for (const [apiKey, { holder }] of this.#pairs) if (holder.authKeyId === authKeyId) this.#pairs.delete(apiKey);
  }

  /** Invalidates every pair. */
  expirePairs(): void {
    for (const { tokens } of this.#pairs.values()) for (const token of tokens) token.expiresAtMs = -Infinity;
  }

  /** Restores the initial state: the AuthKeys of the options, and no valid pair. */
  reset(): void {
    this.authKeys.reset();
    this.expirePairs();
  }

  async #issue(holder: Holder, ttlMs: number): Promise<string> {
    const { clock, operatorId, coverageTypes } = this.#options;
    const issuedAtMs = clock.wallMs();
    const expiresAtMs = clock.monotonicMs() + ttlMs;
    const text = await new SignJWT({ operator: { operatorId, coverageTypes } })
      .setProtectedHeader({ alg, kid: keyId, typ: "JWT" })
      .setJti(randomUUID())
      .setIssuedAt(Math.floor(issuedAtMs / secondMs))
      .setExpirationTime(Math.floor((issuedAtMs + ttlMs) / secondMs))
      .sign(this.#privateKey);
    const pair = this.#pairs.get(holder.apiKey) ?? { holder, tokens: [] };
    pair.tokens.push({ text, expiresAtMs });
    this.#pairs.set(holder.apiKey, pair);
    return text;
  }

  /** The caller, or undefined if the credentials are wrong. @throws Refusal if they have no known form */
  #principalOf(body: Body): Principal | undefined {
    const isComplete = (fields: readonly string[]): boolean => fields.every((field) => typeof body[field] === "string");
    const [form, ...others] = Object.values(forms).filter(isComplete);
    const isPartOfAnother = (field: string): boolean =>
      body[field] !== undefined && !form?.some((own) => own === field);
    if (form === undefined || others.length > 0 || Object.values(forms).flat().some(isPartOfAnother)) {
      throw new Refusal("authVariant");
    }
    const { operatorId, rootEmail: email, rootPassword, userName, userPassword } = this.#options;
    const principals: (Principal & { readonly sent: Body })[] = [
      { sent: { email, password: rootPassword }, userName: undefined, authKeyId: undefined },
      { sent: { operatorId, userName, password: userPassword }, userName, authKeyId: undefined },
      ...this.authKeys.all.map(({ authKeyId, authKey, userName: owner }) => {
        return { sent: { authKeyId, authKey }, userName: owner, authKeyId };
      }),
    ];
    const isRight = (sent: Body): boolean => Object.entries(sent).every(([field, value]) => body[field] === value);
    const found = principals.find(({ sent }) => isRight(sent));
    return found && { userName: found.userName, authKeyId: found.authKeyId };
  }

  /** With MFA, a password needs a one-time code: of now, or of one step before or after; it may be used more than once. */
  #checkCode(code: unknown): void {
    const { clock, mfaSecret } = this.#options;
    if (mfaSecret === undefined) return;
    if (code === undefined) throw new Refusal("mfaRequired");
    const key = readBase32(mfaSecret) ?? new Uint8Array();
    const instants = [-30, 0, 30].map((seconds) => clock.wallMs() + seconds * secondMs);
    if (!instants.some((wallMs) => code === oneTimeCode(key, { wallMs }))) throw new Refusal("mfaFailed");
  }
}

function ttlMsOf({ tokenTimeoutSeconds }: Body): number {
  const { data: seconds } = ttlSeconds.safeParse(tokenTimeoutSeconds);
  if (seconds === undefined) throw new Refusal("ttlOutOfBounds");
  return seconds * secondMs;
}

/** Tokens are signed with a key that is generated here; its public part is published as JWKS. */
export async function openAccounts(options: SandboxOptions): Promise<Accounts> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: keyId, alg, use: "sig" }] };
  return new Accounts(options, { privateKey, jwks });
}

/** An AuthKey; times are epoch seconds. */
interface AuthKey {
  readonly authKeyId: string;
  readonly authKey: string;
  /** The sub-user that has it. Absent: the Root user. */
  readonly userName: string | undefined;
  readonly createDateTime: number;
  /** Time of the last use. Absent until the key is first used. */
  readonly lastUsedDateTime: number | undefined;
}

/** AuthKeys per principal (interface, section 8). */
const maxKeys = 2;

/**
 * The AuthKeys of the Root user and of the sub-user: at most two each; the secret is returned once. A principal is
 * identified by the sub-user's name; the Root user has none.
 */
class AuthKeys {
  readonly #options: SandboxOptions;
  readonly #keys = new Map<string, AuthKey>();

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.reset();
  }

  get all(): AuthKey[] {
    return [...this.#keys.values()];
  }

  /** The keys of a principal as lists show them, oldest first. */
  list(userName: string | undefined) {
    return this.all
      .filter((key) => key.userName === userName)
      .map(({ authKeyId, createDateTime, lastUsedDateTime }) => ({ authKeyId, createDateTime, lastUsedDateTime }));
  }

  /** @throws Refusal if the principal already has two */
  create(userName: string | undefined) {
    if (this.list(userName).length >= maxKeys) throw new Refusal("authKeyLimit");
    const authKeyId = `keyId-${randomBytes(16).toString("hex")}`;
    const authKey = `secret-${randomBytes(32).toString("hex")}`;
    this.#put({ authKeyId, authKey, userName });
    return { authKeyId, authKey };
  }

  /** @throws Refusal if the principal has no such key */
  revoke(userName: string | undefined, authKeyId: string): void {
    const isTheirs = this.list(userName).some((key) => key.authKeyId === authKeyId);
    if (!isTheirs) throw new Refusal("authKeyUnknown");
    this.#keys.delete(authKeyId);
  }

  /** Records an authentication with the key. */
  noteUse(authKeyId: string): void {
    const key = this.#keys.get(authKeyId);
    if (key) this.#keys.set(authKeyId, { ...key, lastUsedDateTime: this.#nowSeconds() });
  }

  /** Restores the initial state: the keys of the options, never used. */
  reset(): void {
    const { authKeyId, authKey, userAuthKeyId, userAuthKey, userName } = this.#options;
    this.#keys.clear();
    this.#put({ authKeyId, authKey, userName: undefined });
    if (userAuthKeyId !== undefined && userAuthKey !== undefined) {
      this.#put({ authKeyId: userAuthKeyId, authKey: userAuthKey, userName });
    }
  }

  #put(key: Pick<AuthKey, "authKeyId" | "authKey" | "userName">): void {
    this.#keys.set(key.authKeyId, { ...key, createDateTime: this.#nowSeconds(), lastUsedDateTime: undefined });
  }

  #nowSeconds(): number {
    return Math.floor(this.#options.clock.wallMs() / secondMs);
  }
}
