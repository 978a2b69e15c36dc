/**
 * The Credential Sets of the account (interface, section 2), and its groups, whose configuration references them: by a
 * flat `credentialsId`, by a `$credentialsId` anywhere inside an entry, or by a placeholder such as `psk-#{imsi}`. No
 * reference is resolved. Responses never contain secret values; the sandbox keeps the latest ones so that a test can
 * verify what arrived, even after the set was deleted.
 */
import { z } from "zod";
import { secondMs } from "#core/time.ts";
import type { GroupSeed, SandboxOptions } from "../options.ts";
import { Refusal } from "../refusals.ts";
import { firstCreatedMs, seededGroupIds } from "../sims/sim-records.ts";

/** A Credential Set as responses show it: `credentials` is always empty. */
export interface CredentialRecord {
  readonly credentialsId: string;
  readonly description: string | undefined;
  readonly type: string;
  readonly credentials: Readonly<Record<string, never>>;
  readonly createDateTime: number;
  readonly updateDateTime: number;
  /** Time of the last use. Absent until the platform has used the set. */
  readonly lastUsedDateTime: number | undefined;
}

type Body = Readonly<Record<string, unknown>>;

/** Sets per account (interface, section 8). */
const maxSets = 100;
/**
 * The types of Credential Sets that a public platform documents, and the fields that `credentials` then requires, all
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

const request = z.object({
  description: z.string().optional(),
  type: z.string().min(1),
  credentials: z.record(z.string(), z.unknown()),
});

const idPattern = /^[A-Za-z0-9._-]{1,100}$/;

export function credentialSets({ clock, operations }: Pick<SandboxOptions, "clock" | "operations">) {
  const records = new Map<string, CredentialRecord>();
  const secrets = new Map<string, Body>();
  const nowSeconds = (): number => Math.floor(clock.wallMs() / secondMs);

  const parseContent = (body: Body): Pick<CredentialRecord, "description" | "type" | "credentials"> => {
    const { data } = request.safeParse(body);
    if (data === undefined) throw new Refusal("credentialInvalid");
    const { description, type, credentials } = data;
    // The interface shows the type psk alone, so only the wider set of operations checks the others.
    const isChecked = type === "psk" || operations === "all";
    const fields = isChecked && Object.hasOwn(fieldsByType, type) ? (fieldsByType[type] ?? []) : [];
    const isComplete = fields.every((field) => typeof credentials[field] === "string");
    if (!isComplete) throw new Refusal("credentialInvalid");
    return { description, type, credentials: {} };
  };

  const put = (changed: Omit<CredentialRecord, "updateDateTime">, { credentials }: Body): CredentialRecord => {
    const record = { ...changed, updateDateTime: nowSeconds() };
    records.set(record.credentialsId, record);
    secrets.set(record.credentialsId, credentials as Body);
    return record;
  };

  const existing = (credentialsId: string): CredentialRecord => {
    const record = records.get(credentialsId);
    if (record === undefined) throw new Refusal("credentialUnknown");
    return record;
  };

  return {
    get count(): number {
      return records.size;
    },

    /** In the order of their creation. */
    get all(): readonly CredentialRecord[] {
      return [...records.values()];
    },

    /** The secret values last accepted for this id: for tests, never for a response. */
    secretOf: (credentialsId: string): Body | undefined => secrets.get(credentialsId),

    /** @throws Refusal */
    create(credentialsId: string, body: Body): CredentialRecord {
      const content = parseContent(body);
      if (!idPattern.test(credentialsId)) throw new Refusal("credentialInvalid");
      if (records.has(credentialsId)) throw new Refusal("credentialDuplicate");
      if (records.size >= maxSets) throw new Refusal("credentialLimit");
      return put({ credentialsId, ...content, createDateTime: nowSeconds(), lastUsedDateTime: undefined }, body);
    },

    /** Replaces description, type and secret values. @throws Refusal */
    update: (credentialsId: string, body: Body): CredentialRecord =>
      put({ ...existing(credentialsId), ...parseContent(body) }, body),

    /** @throws Refusal */
    delete(credentialsId: string): void {
      records.delete(existing(credentialsId).credentialsId);
    },

    /** Records that the platform used the set for an outgoing connection. @throws RangeError if there is no such set */
    noteUse(credentialsId: string): void {
      const record = records.get(credentialsId);
      if (record === undefined) throw new RangeError(`there is no Credential Set ${credentialsId}`);
      records.set(credentialsId, { ...record, lastUsedDateTime: nowSeconds() });
    },
  };
}

const namespacePattern = /^[A-Za-z][A-Za-z0-9]{0,63}$/;
const configurationEntries = z.array(z.object({ key: z.string().min(1), value: z.unknown() }));

export function groups({ clock, operatorId, groups: given }: SandboxOptions) {
  /** A group as responses show it; times are epoch milliseconds. */
  const toRecord = ({ groupId, name = groupId, configuration = {} }: GroupSeed) => {
    const times = { createdTime: firstCreatedMs, lastModifiedTime: firstCreatedMs };
    return { groupId, operatorId, configuration, tags: { name }, ...times };
  };
  const ofSims = seededGroupIds.map((groupId) => toRecord({ groupId, name: groupId.replace(/^[^-]*-/, "") }));
  const records = new Map(ofSims.map((one) => [one.groupId, one]));
  for (const seed of given) {
    const name = seed.name ?? records.get(seed.groupId)?.tags.name;
    records.set(seed.groupId, toRecord({ ...seed, name }));
  }
  /** @throws Refusal if there is no such group */
  const record = (groupId: string) => {
    const found = records.get(groupId);
    if (found === undefined) throw new Refusal("groupUnknown");
    return found;
  };
  return {
    get count(): number {
      return records.size;
    },

    /** In list order: those of the seed, then those of the options. */
    get all() {
      return [...records.values()];
    },

    record,

    /** Sets keys of a namespace; its other keys are unchanged. @throws Refusal */
    configure(groupId: string, namespace: string, body: unknown) {
      const before = record(groupId);
      const { data: entries } = configurationEntries.safeParse(body);
      if (entries === undefined || !namespacePattern.test(namespace)) throw new Refusal("configurationInvalid");
      const set = Object.fromEntries(entries.map(({ key, value }) => [key, value]));
      const configuration = { ...before.configuration, [namespace]: { ...before.configuration[namespace], ...set } };
      const changed = { ...before, configuration, lastModifiedTime: clock.wallMs() };
      records.set(groupId, changed);
      return changed;
    },
  };
}
