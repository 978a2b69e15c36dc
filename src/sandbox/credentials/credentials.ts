/**
 * The Credential Sets of the account (interface, section 2). Responses never contain secret values; the sandbox keeps
 * the latest ones so that a test can verify what arrived, even after the set was deleted.
 */
import { type Clock, secondMs } from "#core/time.ts";
import { holdsFieldsOf, type TypeRules } from "./credential-types.ts";
import { Refusal } from "../refusals.ts";

/** A Credential Set as responses show it: `credentials` is always empty. */
export interface CredentialRecord {
  readonly credentialsId: string;
  readonly description?: string;
  readonly type: string;
  readonly credentials: Readonly<Record<string, never>>;
  readonly createDateTime: number;
  readonly updateDateTime: number;
  /** Absent until the platform has used the set. */
  readonly lastUsedDateTime?: number;
}

type Body = Readonly<Record<string, unknown>>;

/** Sets per account (interface, section 8). */
const maxSets = 100;
const idPattern = /^[A-Za-z0-9._-]{1,100}$/;

export class CredentialSets {
  readonly #clock: Clock;
  readonly #typeRules: TypeRules;
  readonly #records = new Map<string, CredentialRecord>();
  readonly #secrets = new Map<string, Body>();

  constructor(clock: Clock, typeRules: TypeRules) {
    this.#clock = clock;
    this.#typeRules = typeRules;
  }

  get count(): number {
    return this.#records.size;
  }

  /** In the order of their creation. */
  get all(): readonly CredentialRecord[] {
    return [...this.#records.values()];
  }

  record(credentialsId: string): CredentialRecord | undefined {
    return this.#records.get(credentialsId);
  }

  /** The secret values last accepted for this id: for tests, never for a response. */
  secretOf(credentialsId: string): Body | undefined {
    return this.#secrets.get(credentialsId);
  }

  /** @throws Refusal */
  create(credentialsId: string, body: Body): CredentialRecord {
    const content = this.#contentOf(body);
    if (!idPattern.test(credentialsId)) throw new Refusal("credentialInvalid");
    if (this.#records.has(credentialsId)) throw new Refusal("credentialDuplicate");
    if (this.#records.size >= maxSets) throw new Refusal("credentialLimit");
    const nowSeconds = this.#nowSeconds();
    return this.#put({ credentialsId, ...content, createDateTime: nowSeconds, updateDateTime: nowSeconds }, body);
  }

  /** Replaces description, type and secret values. @throws Refusal */
  update(credentialsId: string, body: Body): CredentialRecord {
    const { createDateTime, lastUsedDateTime } = this.#existing(credentialsId);
    const times = {
      createDateTime,
      updateDateTime: this.#nowSeconds(),
      ...(lastUsedDateTime === undefined ? {} : { lastUsedDateTime }),
    };
    return this.#put({ credentialsId, ...this.#contentOf(body), ...times }, body);
  }

  /** @throws Refusal */
  delete(credentialsId: string): void {
    this.#existing(credentialsId);
    this.#records.delete(credentialsId);
  }

  /** Records that the platform used the set for an outgoing connection. @throws RangeError if there is no such set */
  noteUse(credentialsId: string): void {
    const record = this.#records.get(credentialsId);
    if (record === undefined) throw new RangeError(`there is no Credential Set ${credentialsId}`);
    this.#records.set(credentialsId, { ...record, lastUsedDateTime: this.#nowSeconds() });
  }

  reset(): void {
    this.#records.clear();
    this.#secrets.clear();
  }

  #contentOf({ description, type, credentials }: Body): Pick<CredentialRecord, "description" | "type" | "credentials"> {
    const isWellFormed =
      typeof type === "string" &&
      type !== "" &&
      isObject(credentials) &&
      (description === undefined || typeof description === "string");
    if (!isWellFormed) throw new Refusal("credentialInvalid");
    if (!holdsFieldsOf(type, credentials, this.#typeRules)) throw new Refusal("credentialInvalid");
    return { ...(description === undefined ? {} : { description }), type, credentials: {} };
  }

  #put(record: CredentialRecord, { credentials }: Body): CredentialRecord {
    this.#records.set(record.credentialsId, record);
    this.#secrets.set(record.credentialsId, credentials as Body);
    return record;
  }

  #existing(credentialsId: string): CredentialRecord {
    const record = this.#records.get(credentialsId);
    if (record === undefined) throw new Refusal("credentialUnknown");
    return record;
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.wallMs() / secondMs);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
