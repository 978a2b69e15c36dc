/**
 * The Credential Sets of the account (interface, section 2). Responses never contain secret values; the sandbox keeps
 * the latest ones so that a test can verify what arrived, even after the set was deleted.
 */
import { secondMs } from "#core/time.ts";
import { isObject } from "../http/request.ts";
import type { SandboxOptions } from "../options.ts";
import { Refusal } from "../refusals.ts";

/** A Credential Set as responses show it: `credentials` is always empty. */
export interface CredentialRecord {
  readonly credentialsId: string;
  readonly description: string | undefined;
  readonly type: string;
  readonly credentials: Readonly<Record<string, never>>;
  readonly createDateTime: number;
  readonly updateDateTime: number;
  /** Absent until the platform has used the set. */
  readonly lastUsedDateTime: number | undefined;
}

type Body = Readonly<Record<string, unknown>>;

/** Sets per account (interface, section 8). */
const maxSets = 100;
/**
 * The types of Credential Sets that a public deployment documents, and the fields that `credentials` then requires, all
 * of them strings. A type that is not listed is accepted with any content.
 */
const fieldsByType: Readonly<Record<string, readonly string[]>> = {
  psk: ["key"],
  x509: ["key", "cert", "ca"],
  "aws-credentials": ["accessKeyId", "secretAccessKey"],
  "aws-iam-role-credentials": ["roleArn", "externalId"],
  "azure-credentials": ["policyName", "key"],
  "azureIoT-credentials": ["sharedAccessKeyName", "sharedAccessKey"],
  "googleIoT-credentials": ["projectId", "region", "registryId", "deviceId", "algorithm", "privateKey"],
  "google-service-account-json": ["credentials"],
  "pubnub-credentials": ["pubKey", "subKey"],
  "api-token-credentials": ["token"],
  "username-password-credentials": ["username", "password"],
};

const idPattern = /^[A-Za-z0-9._-]{1,100}$/;

export class CredentialSets {
  readonly #options: Pick<SandboxOptions, "clock" | "operations">;
  readonly #records = new Map<string, CredentialRecord>();
  readonly #secrets = new Map<string, Body>();

  constructor(options: Pick<SandboxOptions, "clock" | "operations">) {
    this.#options = options;
  }

  get count(): number {
    return this.#records.size;
  }

  /** In the order of their creation. */
  get all(): readonly CredentialRecord[] {
    return [...this.#records.values()];
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
    return this.#put(
      { credentialsId, ...content, createDateTime: this.#nowSeconds(), lastUsedDateTime: undefined },
      body,
    );
  }

  /** Replaces description, type and secret values. @throws Refusal */
  update(credentialsId: string, body: Body): CredentialRecord {
    return this.#put({ ...this.#existing(credentialsId), ...this.#contentOf(body) }, body);
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

  #contentOf({ description, type, credentials }: Body): Pick<CredentialRecord, "description" | "type" | "credentials"> {
    const isWellFormed =
      typeof type === "string" &&
      type !== "" &&
      isObject(credentials) &&
      (description === undefined || typeof description === "string");
    if (!isWellFormed) throw new Refusal("credentialInvalid");
    // The interface shows the type psk alone, so only the wider set of operations checks the others.
    const isChecked = type === "psk" || this.#options.operations === "all";
    if (isChecked && !holdsFieldsOf(type, credentials)) throw new Refusal("credentialInvalid");
    return { description, type, credentials: {} };
  }

  #put(changed: Omit<CredentialRecord, "updateDateTime">, { credentials }: Body): CredentialRecord {
    const record = { ...changed, updateDateTime: this.#nowSeconds() };
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
    return Math.floor(this.#options.clock.wallMs() / secondMs);
  }
}

function holdsFieldsOf(type: string, credentials: Body): boolean {
  const fields = Object.hasOwn(fieldsByType, type) ? (fieldsByType[type] ?? []) : [];
  if (!fields.every((field) => typeof credentials[field] === "string")) return false;
  return type !== "google-service-account-json" || isJson(String(credentials["credentials"]));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
