/**
 * The principals that may call: the Root user and one sub-user, by password or AuthKey (interface, sections 2, 3 and
 * 5), and the pairs they get. A pair is validated by a lookup, not by its signature: the sandbox created it, and the
 * lookup keeps the server fast.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { type CryptoKey, exportJWK, generateKeyPair, type JSONWebKeySet, SignJWT } from "jose";
import { z } from "zod";
import { oneTimeCode, readBase32 } from "#core/secrets/one-time-code.ts";
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

/** Lifetime of a pair (interface, section 8). */
const ttlSeconds = z.int().min(180).max(172_800).default(86_400);
/** Algorithm and ID of the key that signs the tokens. */
const alg = "ES256";
const keyId = "sandbox-1";

/** The forms of credentials: exactly one must be complete, and no other partly given. */
const forms = [
  ["email", "password"],
  ["operatorId", "userName", "password"],
  ["authKeyId", "authKey"],
];

export type Accounts = Awaited<ReturnType<typeof openAccounts>>;

/** Tokens are signed with a key that is generated here; its public part is published as JWKS. */
export async function openAccounts(options: SandboxOptions) {
  const { clock, operatorId, coverageTypes } = options;
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwks: JSONWebKeySet = { keys: [{ ...(await exportJWK(publicKey)), kid: keyId, alg, use: "sig" }] };
  const authKeys = openAuthKeys(options);
  const pairs = new Map<string, IssuedPair>();

  const issue = async (holder: Holder, ttlMs: number): Promise<string> => {
    const issuedAtMs = clock.wallMs();
    const expiresAtMs = clock.monotonicMs() + ttlMs;
    const text = await signJwt({ operatorId, coverageTypes }, { issuedAtMs, ttlMs, privateKey });
    const pair = pairs.get(holder.apiKey) ?? { holder, tokens: [] };
    pair.tokens.push({ text, expiresAtMs });
    pairs.set(holder.apiKey, pair);
    return text;
  };

  const expirePairs = (): void => {
    for (const { tokens } of pairs.values()) for (const token of tokens) token.expiresAtMs = -Infinity;
  };

  return {
    jwks,
    authKeys,

    /** Pairs that are neither expired nor revoked. */
    get livePairs(): number {
      const nowMs = clock.monotonicMs();
      return [...pairs.values()].filter(({ tokens }) => tokens.some((token) => token.expiresAtMs > nowMs)).length;
    },

    /** Handles the body of `POST /v1/auth`. @throws Refusal */
    async authenticate(body: Body) {
      checkForm(body);
      const principal = findPrincipal(body, options, authKeys.all);
      const ttlMs = parseTtlMs(body);
      if (principal === undefined) throw new Refusal("authFailed");
      const { userName, authKeyId } = principal;
      if (authKeyId === undefined) checkCode(body["mfaOTPCode"], options);
      else authKeys.noteUse(authKeyId);
      const apiKey = `api-${randomBytes(24).toString("hex")}`;
      const token = await issue({ apiKey, userName, authKeyId }, ttlMs);
      return { operatorId, userName, apiKey, token };
    },

    /** Issues another token for the API key of a valid pair. @throws Refusal */
    renew: (holder: Holder, body: Body): Promise<string> => issue(holder, parseTtlMs(body)),

    /** Checks that a pair is valid. @throws Refusal */
    check(apiKey: string | undefined, text: string | undefined, whenExpired: RefusalName = "pairExpired"): Holder {
      if (!apiKey || !text) throw new Refusal("pairMissing");
      const pair = pairs.get(apiKey);
      const token = pair?.tokens.find((known) => known.text === text);
      if (pair === undefined || token === undefined) throw new Refusal("pairInvalid");
      if (token.expiresAtMs <= clock.monotonicMs()) throw new Refusal(whenExpired);
      return pair.holder;
    },

    /** Revokes an AuthKey: authentication with it fails from now on. @throws Refusal if the principal lacks it */
    revoke(userName: string | undefined, authKeyId: string): void {
      authKeys.revoke(userName, authKeyId);
      if (!options.revokeKillsPairs) return;
      for (const [apiKey, { holder }] of pairs) if (holder.authKeyId === authKeyId) pairs.delete(apiKey);
    },

    /** Invalidates every pair. */
    expirePairs,

    /** Restores the initial state: the AuthKeys of the options, and no valid pair. */
    reset(): void {
      authKeys.reset();
      expirePairs();
    },
  };
}

function signJwt(operator: object, of: { issuedAtMs: number; ttlMs: number; privateKey: CryptoKey }): Promise<string> {
  const { issuedAtMs, ttlMs, privateKey } = of;
  return new SignJWT({ operator })
    .setProtectedHeader({ alg, kid: keyId, typ: "JWT" })
    .setJti(randomUUID())
    .setIssuedAt(Math.floor(issuedAtMs / secondMs))
    .setExpirationTime(Math.floor((issuedAtMs + ttlMs) / secondMs))
    .sign(privateKey);
}

/** The caller, or undefined if the credentials are wrong. */
function findPrincipal(body: Body, options: SandboxOptions, authKeys: ReturnType<typeof openAuthKeys>["all"]) {
  const { operatorId, rootEmail: email, rootPassword, userName, userPassword } = options;
  const principals = [
    { sent: { email, password: rootPassword }, userName: undefined, authKeyId: undefined },
    { sent: { operatorId, userName, password: userPassword }, userName, authKeyId: undefined },
    ...authKeys.map(({ authKeyId, authKey, userName: owner }) => {
      return { sent: { authKeyId, authKey }, userName: owner, authKeyId };
    }),
  ];
  return principals.find(({ sent }) => Object.entries(sent).every(([field, value]) => body[field] === value));
}

/** @throws Refusal if the credentials have no known form, or parts of two */
function checkForm(body: Body): void {
  const complete = forms.filter((fields) => fields.every((field) => typeof body[field] === "string"));
  const [form, another] = complete;
  const isPartOfAnother = (field: string): boolean => body[field] !== undefined && form?.includes(field) === false;
  if (form === undefined || another !== undefined || forms.flat().some(isPartOfAnother)) {
    throw new Refusal("authVariant");
  }
}

/** With MFA, a password needs a one-time code: of now, or one step before or after; it may be used more than once. */
function checkCode(code: unknown, { clock, mfaSecret }: SandboxOptions): void {
  if (mfaSecret === undefined) return;
  if (code === undefined) throw new Refusal("mfaRequired");
  const key = readBase32(mfaSecret) ?? new Uint8Array();
  const instants = [-30, 0, 30].map((seconds) => clock.wallMs() + seconds * secondMs);
  if (!instants.some((wallMs) => code === oneTimeCode(key, { wallMs }))) throw new Refusal("mfaFailed");
}

function parseTtlMs({ tokenTimeoutSeconds }: Body): number {
  const { data: seconds } = ttlSeconds.safeParse(tokenTimeoutSeconds);
  if (seconds === undefined) throw new Refusal("ttlOutOfBounds");
  return seconds * secondMs;
}

/** AuthKeys per principal (interface, section 8). */
const maxKeys = 2;

/**
 * The AuthKeys of the Root user and of the sub-user: at most two each; the secret is returned once. A principal is
 * identified by the sub-user's name; the Root user has none.
 */
function openAuthKeys({ clock, ...options }: SandboxOptions) {
  const nowSeconds = (): number => Math.floor(clock.wallMs() / secondMs);
  /** Times are epoch seconds; that of the last use is absent until then. */
  const newKey = (authKeyId: string, authKey: string, userName: string | undefined) => {
    const times = { createDateTime: nowSeconds(), lastUsedDateTime: undefined as number | undefined };
    return { authKeyId, authKey, userName, ...times };
  };
  const keys = new Map<string, ReturnType<typeof newKey>>();
  const put = (key: ReturnType<typeof newKey>): void => void keys.set(key.authKeyId, key);
  const ofUser = (userName: string | undefined) => [...keys.values()].filter((key) => key.userName === userName);
  const authKeys = {
    get all() {
      return [...keys.values()];
    },

    /** The keys of a principal as lists show them, oldest first. */
    list: (userName: string | undefined) =>
      ofUser(userName).map(({ authKeyId, createDateTime, lastUsedDateTime }) => {
        return { authKeyId, createDateTime, lastUsedDateTime };
      }),

    /** @throws Refusal if the principal already has two */
    create(userName: string | undefined) {
      if (ofUser(userName).length >= maxKeys) throw new Refusal("authKeyLimit");
      const authKeyId = `keyId-${randomBytes(16).toString("hex")}`;
      const authKey = `secret-${randomBytes(32).toString("hex")}`;
      put(newKey(authKeyId, authKey, userName));
      return { authKeyId, authKey };
    },

    /** @throws Refusal if the principal has no such key */
    revoke(userName: string | undefined, authKeyId: string): void {
      if (!ofUser(userName).some((key) => key.authKeyId === authKeyId)) throw new Refusal("authKeyUnknown");
      keys.delete(authKeyId);
    },

    /** Records an authentication with the key. */
    noteUse(authKeyId: string): void {
      const key = keys.get(authKeyId);
      if (key) put({ ...key, lastUsedDateTime: nowSeconds() });
    },

    /** Restores the initial state: the keys of the options, never used. */
    reset(): void {
      const { authKeyId, authKey, userAuthKeyId, userAuthKey, userName } = options;
      keys.clear();
      put(newKey(authKeyId, authKey, undefined));
      if (userAuthKeyId !== undefined && userAuthKey !== undefined) put(newKey(userAuthKeyId, userAuthKey, userName));
    },
  };
  authKeys.reset();
  return authKeys;
}
