/**
 * The principals that may call: the Root user and one sub-user, by password or AuthKey (interface, sections 2, 3 and
 * 5), and the pairs they get. Sandboxes can share accounts, since a pair works on every base address.
 */
import { randomBytes } from "node:crypto";
import type { JSONWebKeySet } from "jose";
import { secondMs } from "#core/time.ts";
import type { Coverage } from "#fleet/profile.ts";
import type { SandboxOptions } from "../options.ts";
import { Refusal, type RefusalName } from "../refusals.ts";
import { type AuthKeyPair, AuthKeys } from "./auth-keys.ts";
import { isOneTimeCode } from "./one-time-code.ts";
import { type Holder, Pairs } from "./pairs.ts";
import { openTokenSigner, type TokenSigner } from "./tokens.ts";

export { keyAccesses } from "../options.ts";

/** The result of a successful authentication. */
export interface Pair {
  readonly operatorId: string;
  readonly userName?: string;
  readonly apiKey: string;
  readonly token: string;
}

interface Principal {
  /** Absent: the Root user. */
  readonly userName: string | undefined;
  readonly mfaSecret: string | undefined;
  readonly authKeyId?: string;
}

/** Bounds of a lifetime (interface, section 8). */
const ttlSeconds = { least: 180, usual: 86_400, most: 172_800 };

const variants = {
  root: ["email", "password"],
  user: ["operatorId", "userName", "password"],
  authKey: ["authKeyId", "authKey"],
} as const;

export class Accounts {
  readonly #options: SandboxOptions;
  readonly #signer: TokenSigner;
  readonly #pairs: Pairs;
  readonly authKeys: AuthKeys;

  constructor(options: SandboxOptions, signer: TokenSigner) {
    this.#options = options;
    this.#signer = signer;
    this.#pairs = new Pairs(options.clock);
    this.authKeys = new AuthKeys(options.clock, firstKeysOf(options));
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

  /** Pairs that are neither expired nor revoked. */
  get livePairs(): number {
    return this.#pairs.live;
  }

  /** Handles the body of `POST /v1/auth`. @throws Refusal */
  async authenticate(body: Readonly<Record<string, unknown>>): Promise<Pair> {
    const principal = this.#principalOf(body);
    const ttlMs = this.#ttlMsOf(body);
    if (principal === undefined) throw new Refusal("authFailed");
    const { userName, mfaSecret, authKeyId } = principal;
    if (mfaSecret !== undefined) this.#checkCode(body["mfaOTPCode"], mfaSecret);
    if (authKeyId !== undefined) this.authKeys.noteUse(authKeyId);
    const apiKey = `api-${randomBytes(24).toString("hex")}`;
    const token = await this.#issue({ apiKey, userName, authKeyId }, ttlMs);
    return { operatorId: this.#options.operatorId, ...(userName === undefined ? {} : { userName }), apiKey, token };
  }

  /**
   * Issues another token for the API key of a valid pair; the previous token remains valid until it expires. @throws
   * Refusal
   */
  renew(holder: Holder, body: Readonly<Record<string, unknown>>): Promise<string> {
    return this.#issue(holder, this.#ttlMsOf(body));
  }

  /** Checks that a pair is valid. @throws Refusal */
  check(apiKey: string | undefined, token: string | undefined, whenExpired: RefusalName = "pairExpired"): Holder {
    return this.#pairs.check(apiKey, token, whenExpired);
  }

  /**
   * Checks that the holder of a pair may manage the AuthKeys of a sub-user or, without a name, of the Root user.
   * @throws Refusal
   */
  checkKeyAccess(holder: Holder, userName: string | undefined): void {
    const { userKeyAccess, userName: known } = this.#options;
    const isPermitted = holder.userName === undefined || (holder.userName === userName && userKeyAccess === "own");
    if (!isPermitted) throw new Refusal("keysForbidden");
    if (userName !== undefined && userName !== known) throw new Refusal("userUnknown");
  }

  /** Revokes an AuthKey: authentication with it fails from now on. @throws Refusal if the principal has no such key */
  revoke(userName: string | undefined, authKeyId: string): void {
    this.authKeys.revoke(userName, authKeyId);
    if (this.#options.revokeKillsPairs) this.#pairs.withdraw(authKeyId);
  }

  /** Invalidates every pair. */
  expirePairs(): void {
    this.#pairs.expireAll();
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
    const span = { issuedAtMs, expiresAtMs: issuedAtMs + ttlMs };
    const token = await this.#signer.sign({ operatorId, coverageTypes }, span);
    this.#pairs.put(holder, token, expiresAtMs);
    return token;
  }

  /** The caller, or undefined if the credentials are wrong. @throws Refusal if they have no known form */
  #principalOf(body: Readonly<Record<string, unknown>>): Principal | undefined {
    const matching = Object.values(variants).filter((fields) =>
      fields.every((field) => typeof body[field] === "string"),
    );
    const named = new Set<string>(matching.flat());
    const allFields = Object.values(variants).flat();
    if (matching.length !== 1 || allFields.some((field) => body[field] !== undefined && !named.has(field))) {
      throw new Refusal("authVariant");
    }
    const options = this.#options;
    if (matching[0] === variants.authKey) {
      const { authKeyId, authKey } = body;
      const owner = this.authKeys.ownerOf({ authKeyId, authKey });
      return owner && { userName: owner.userName, mfaSecret: undefined, authKeyId: String(authKeyId) };
    }
    if (matching[0] === variants.root) {
      const isRoot = body["email"] === options.rootEmail && body["password"] === options.rootPassword;
      return isRoot ? { userName: undefined, mfaSecret: options.rootMfaSecret } : undefined;
    }
    const isUser =
      body["operatorId"] === options.operatorId &&
      body["userName"] === options.userName &&
      body["password"] === options.userPassword;
    return isUser ? { userName: options.userName, mfaSecret: options.userMfaSecret } : undefined;
  }

  #ttlMsOf(body: Readonly<Record<string, unknown>>): number {
    const requested = body[this.#options.ttlField] ?? ttlSeconds.usual;
    const isWithinBounds =
      Number.isInteger(requested) && Number(requested) >= ttlSeconds.least && Number(requested) <= ttlSeconds.most;
    if (!isWithinBounds) throw new Refusal("ttlOutOfBounds");
    return (this.#options.pairTtlSeconds ?? Number(requested)) * secondMs;
  }

  #checkCode(code: unknown, secret: string): void {
    if (code === undefined) throw new Refusal("mfaRequired");
    const isRight = typeof code === "string" && isOneTimeCode(code, secret, this.#options.clock.wallMs());
    if (!isRight) throw new Refusal("mfaFailed");
  }
}

export async function openAccounts(options: SandboxOptions): Promise<Accounts> {
  return new Accounts(options, await openTokenSigner(options.tokenAlgorithm));
}

function firstKeysOf(options: SandboxOptions): (AuthKeyPair & { userName: string | undefined })[] {
  const { authKeyId, authKey, userAuthKeyId, userAuthKey, userName } = options;
  const ofRoot = { authKeyId, authKey, userName: undefined };
  if (userAuthKeyId === undefined || userAuthKey === undefined) return [ofRoot];
  return [ofRoot, { authKeyId: userAuthKeyId, authKey: userAuthKey, userName }];
}
