/**
 * The AuthKeys of the Root user and of the sub-user (interface, sections 1 to 3): at most two each; the secret is
 * returned once. A principal is identified by the sub-user's name; the Root user has none.
 */
import { randomBytes } from "node:crypto";
import { type Clock, secondMs } from "#core/time.ts";
import { Refusal } from "../refusals.ts";

/** An AuthKey as lists show it; times are epoch seconds. */
interface AuthKeyRecord {
  readonly authKeyId: string;
  readonly createDateTime: number;
  /** Absent until the key is first used. */
  readonly lastUsedDateTime: number | undefined;
}

/** An AuthKey as its creation returns it, only once. */
export interface AuthKeyPair {
  readonly authKeyId: string;
  readonly authKey: string;
}

type OwnedKey = AuthKeyPair & { readonly userName: string | undefined };

/** AuthKeys per principal (interface, section 8). */
const maxKeys = 2;

export class AuthKeys {
  readonly #clock: Clock;
  readonly #first: readonly OwnedKey[];
  readonly #keys = new Map<string, OwnedKey & AuthKeyRecord>();

  /** `first`: the initial keys. */
  constructor(clock: Clock, first: readonly OwnedKey[]) {
    this.#clock = clock;
    this.#first = first;
    this.reset();
  }

  /** The keys of a principal, oldest first. */
  list(userName: string | undefined): AuthKeyRecord[] {
    return [...this.#keys.values()]
      .filter((key) => key.userName === userName)
      .map(({ authKeyId, createDateTime, lastUsedDateTime }) => ({ authKeyId, createDateTime, lastUsedDateTime }));
  }

  /** @throws Refusal if the principal already has two */
  create(userName: string | undefined): AuthKeyPair {
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

  /** The owner of a key, or undefined if id and secret do not match a key. */
  ownerOf({ authKeyId, authKey }: AuthKeyPair): Pick<OwnedKey, "userName"> | undefined {
    const key = this.#keys.get(authKeyId);
    return key?.authKey === authKey ? key : undefined;
  }

  /** Records an authentication with the key. */
  noteUse(authKeyId: string): void {
    const key = this.#keys.get(authKeyId);
    if (key) this.#keys.set(authKeyId, { ...key, lastUsedDateTime: this.#nowSeconds() });
  }

  /** Restores the initial state: the first keys, never used. */
  reset(): void {
    this.#keys.clear();
    for (const key of this.#first) this.#put(key);
  }

  #put(key: OwnedKey): void {
    this.#keys.set(key.authKeyId, { ...key, createDateTime: this.#nowSeconds(), lastUsedDateTime: undefined });
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.wallMs() / secondMs);
  }
}
