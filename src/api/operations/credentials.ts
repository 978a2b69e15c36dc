/** Credential Sets (interface, sections 2 and 4). Secret values go in; whatever comes back of them is dropped. */
import { z } from "zod";
import type { Secret } from "#core/secret.ts";
import type { Operation } from "./operation.ts";

export interface CreateCredentialInput {
  /** Unique in the account: letters, digits, `.`, `_` and `-`, beginning with a letter or digit, at most 100. */
  readonly credentialsId: string;
  readonly description?: string | undefined;
  /** `psk`; the names of other types are not shown in the interface and pass through. */
  readonly type: string;
  /** For `psk` the one field `key`. */
  readonly credentials: Readonly<Record<string, Secret>>;
}

export interface CredentialSet {
  readonly credentialsId: string;
  readonly description: string | undefined;
  readonly type: string | undefined;
  /** Milliseconds since the Unix epoch, UTC. */
  readonly createdAtMs: number | undefined;
  readonly updatedAtMs: number | undefined;
}

function isCredentialsId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text);
}

/** The platform counts in seconds here; inside simfleet there are only milliseconds. */
const epochSeconds = z.number().nullish();

function toMs(seconds: number | null | undefined): number | undefined {
  return seconds === null || seconds === undefined ? undefined : seconds * 1_000;
}

const credentialSet = z
  .looseObject({
    credentialsId: z.string(),
    description: z.string().nullish(),
    type: z.string().nullish(),
    createDateTime: epochSeconds,
    updateDateTime: epochSeconds,
  })
  .transform((record) => ({
    credentialsId: record.credentialsId,
    description: record.description ?? undefined,
    type: record.type ?? undefined,
    createdAtMs: toMs(record.createDateTime),
    updatedAtMs: toMs(record.updateDateTime),
  }));

/** The interface shows no status for this success; 201 is as good as 200. */
export const createCredential: Operation<CreateCredentialInput, CredentialSet> = {
  id: "createCredential",
  method: "POST",
  path: "/v1/credentials/{credentialsId}",
  parameters: [{ name: "credentialsId", isAllowed: isCredentialsId, of: (input) => input.credentialsId }],
  quota: { group: "Credential" },
  authenticated: true,
  replay: "unsafe",
  successStatuses: [200, 201],
  body: ({ description, type, credentials }) => ({
    ...(description === undefined ? {} : { description }),
    type,
    credentials: Object.fromEntries(Object.entries(credentials).map(([field, secret]) => [field, secret.reveal()])),
  }),
  output: credentialSet,
};
