/**
 * Credential Sets (interface, sections 2 and 4). Secret values are write-only: any that a response contains are
 * dropped. The interface shows creation; the platform definition describes list, update and delete.
 */
import { z } from "zod";
import { Secret } from "#core/secrets/secret.ts";
import { describedOperation, ignoresAnswer, isCredentialsId } from "./described.ts";
import { type Operation, epochSeconds } from "./operation.ts";
import type { Problem } from "#core/errors.ts";

export interface CredentialInput {
  /** Unique in the account: letters, digits, `.`, `_` and `-`, start with a letter or digit, at most 100. */
  readonly credentialsId: string;
  readonly description?: string | undefined;
  /** `psk`; the names of other types are not shown in the interface and pass through. */
  readonly type: string;
  /** For `psk` the single field `key`; `credentialFaults` returns what a type lacks. */
  readonly credentials: Readonly<Record<string, Secret>>;
}

const credentialSet = z
  .looseObject({
    credentialsId: z.string(),
    description: z.string().nullish(),
    type: z.string().nullish(),
    createDateTime: epochSeconds,
    updateDateTime: epochSeconds,
    lastUsedDateTime: epochSeconds,
  })
  .transform((record) => ({
    credentialsId: record.credentialsId,
    description: record.description ?? undefined,
    type: record.type ?? undefined,
    /** Milliseconds since the Unix epoch, UTC. */
    createdAtMs: record.createDateTime,
    updatedAtMs: record.updateDateTime,
    /** Undefined: never used, or not reported; the interface does not show this field. */
    lastUsedAtMs: record.lastUsedDateTime,
  }));

export type CredentialSet = Readonly<z.output<typeof credentialSet>>;

/** The interface does not show the success status; 200 and 201 are both accepted. */
export const createCredential: Operation<CredentialInput, CredentialSet> = {
  id: "createCredential",
  method: "POST",
  path: "/v1/credentials/{credentialsId}",
  parameters: [{ name: "credentialsId", isAllowed: isCredentialsId, of: idOf }],
  quota: { group: "Credential" },
  authenticated: true,
  replay: "unsafe",
  successStatuses: [200, 201],
  body: toBody,
  output: credentialSet,
};

/** Lists all Credential Sets, without their secrets. */
export const listCredentials = describedOperation<undefined, CredentialSet[]>("listCredentials", {
  output: z.array(credentialSet),
});

/** Replaces a Credential Set; idempotent. */
export const updateCredential = describedOperation<CredentialInput, CredentialSet>("updateCredential", {
  fillings: { credentialsId: idOf },
  body: toBody,
  output: credentialSet,
});

/** Deletes a Credential Set; deleting a referenced one breaks what references it (interface, section 7, rule 6). */
export const deleteCredential = describedOperation("deleteCredential", {
  fillings: { credentialsId: idOf },
  ...ignoresAnswer,
});

function idOf(input: Pick<CredentialInput, "credentialsId">): string {
  return input.credentialsId;
}

function toBody({ description, type, credentials }: CredentialInput): unknown {
  const lines = Object.entries(credentials).map(([field, secret]) => [field, withoutCarriageReturns(secret)]);
  return {
    ...(description === undefined ? {} : { description }),
    type,
    credentials: Object.fromEntries(lines) as unknown,
  };
}

/** Recipients of a certificate may accept line feeds only (interface, section 2). */
function withoutCarriageReturns(secret: Secret): string {
  const value = secret.reveal();
  if (!value.includes("\r")) return value;
  // A Secret, so that this form of the value is also redacted if the platform echoes it.
  return new Secret(value.replace(/\r\n?/g, "\n")).reveal();
}

// The fields of the secrets in a Credential Set. The platform definition lists the fields that each type requires (the
// interface shows only those of `psk`). A type that is not listed, and additional fields, pass through, since more
// types exist than are known.

/** The required fields of each type, as configured by the platform definition. */
export type CredentialTypes = Readonly<Record<string, readonly string[]>>;

const secret = z.instanceof(Secret, { error: "is missing" }).refine((value) => value.reveal() !== "", "is empty");

/** Missing or empty fields; a problem never contains a value. */
export function credentialFaults(
  types: CredentialTypes,
  { type, credentials }: { readonly type: string; readonly credentials: Readonly<Record<string, Secret>> },
): Problem[] {
  const fields = Object.hasOwn(types, type) ? (types[type] ?? []) : [];
  const schema = z.object(Object.fromEntries(fields.map((field) => [field, secret]))).catchall(secret);
  const needs = fields.length === 0 ? "" : ` A Credential Set of type ${type} needs ${fields.join(", ")}.`;
  const issues = schema.safeParse(credentials).error?.issues ?? [];
  return issues.map(({ path, message }) => ({
    where: ["credentials", ...path].join("."),
    message: `${message}.${needs}`,
  }));
}
