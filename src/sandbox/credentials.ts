/**
 * The Credential Sets of the account (interface, section 2). Answers never show secret values; the sandbox keeps them so
 * that a test can see what arrived. Creating is the one operation whose path the interface shows; the store is ready for
 * the others (list, update, delete), which are served once their paths are known.
 */
import { type Clock, secondMs } from "#core/time.ts";
import { Refusal } from "./messages.ts";

/** A Credential Set as answers show it: `credentials` is always empty. */
export interface CredentialRecord {
  readonly credentialsId: string;
  readonly description?: string;
  readonly type: string;
  readonly credentials: Readonly<Record<string, never>>;
  readonly createDateTime: number;
  readonly updateDateTime: number;
}

interface StoredCredential {
  readonly record: CredentialRecord;
  readonly secret: Readonly<Record<string, unknown>>;
}

/** Sets per account (interface, section 8). */
const maxSets = 100;
const idPattern = /^[A-Za-z0-9._-]{1,100}$/;

export class CredentialSets {
  readonly #clock: Clock;
  readonly #sets = new Map<string, StoredCredential>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#sets.size;
  }

  record(credentialsId: string): CredentialRecord | undefined {
    return this.#sets.get(credentialsId)?.record;
  }

  /** The secret values as they arrived: for tests, never for an answer. */
  secretOf(credentialsId: string): Readonly<Record<string, unknown>> | undefined {
    return this.#sets.get(credentialsId)?.secret;
  }

  /** @throws Refusal */
  create(credentialsId: string, body: Readonly<Record<string, unknown>>): CredentialRecord {
    const { description, type, credentials } = body;
    const isWellFormed =
      idPattern.test(credentialsId) &&
      typeof type === "string" &&
      type !== "" &&
      isObject(credentials) &&
      (description === undefined || typeof description === "string") &&
      (type !== "psk" || typeof credentials["key"] === "string");
    if (!isWellFormed) throw new Refusal("credentialInvalid");
    if (this.#sets.has(credentialsId)) throw new Refusal("credentialDuplicate");
    if (this.#sets.size >= maxSets) throw new Refusal("credentialLimit");
    const nowSeconds = Math.floor(this.#clock.wallMs() / secondMs);
    const record = {
      credentialsId,
      ...(description === undefined ? {} : { description }),
      type,
      credentials: {},
      createDateTime: nowSeconds,
      updateDateTime: nowSeconds,
    };
    this.#sets.set(credentialsId, { record, secret: credentials });
    return record;
  }

  reset(): void {
    this.#sets.clear();
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
