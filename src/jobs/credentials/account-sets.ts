/**
 * The Credential Sets of an account and the references to them, as far as the definition describes the operations. For
 * missing operations, `can…` returns false, and the others throw an error that says what to add.
 */
import type { PlatformClient } from "#api/client.ts";
import * as api from "#api/operations/credentials.ts";
import { type GroupRecord, listGroups, putGroupConfiguration } from "#api/operations/groups.ts";
import type { Operation } from "#api/operations/operation.ts";
import { PlatformError } from "#core/errors.ts";
import type { DeploymentOperationId } from "#fleet/deployment-operation.ts";
import { type Deployment, requireOperation } from "#fleet/required-operation.ts";
import { type Reference, referencesIn } from "./references.ts";

/** The account of a profile, as far as rotations need it. */
export interface RotationAccount {
  readonly client: Pick<PlatformClient, "call" | "pages" | "whoAmI">;
  readonly deployment: Deployment & { readonly credentialTypes: api.CredentialTypes };
  /** Maximum number of Credential Sets (interface, section 8). */
  readonly maxSets: number;
}

export const feature = "Rotating Credential Sets";

export type AccountSets = ReturnType<typeof accountSets>;

/**
 * All but `can` throw PlatformError, and ConfigError if the platform definition lacks the operation.
 * @param purpose what a missing operation is needed for, as the start of a sentence
 */
export function accountSets({ client, deployment }: RotationAccount, signal: AbortSignal, purpose: string = feature) {
  const described = (id: DeploymentOperationId) => requireOperation(deployment, id, purpose);
  /** Rotations make few calls and wait long, so their calls have priority over those of a run. */
  const call = <I, O>(operation: Operation<I, O>, input: I): Promise<O> =>
    client.call(operation, input, { signal, urgency: "priority" });

  const can = (id: DeploymentOperationId): boolean => deployment.operations[id] !== undefined;

  const list = async () => call(api.listCredentials(described("listCredentials")), undefined);
  const find = async (credentialsId: string) => (await list()).find((set) => set.credentialsId === credentialsId);

  const create = (input: api.CredentialInput) => call(api.createCredential, input);
  const update = async (input: api.CredentialInput) => call(api.updateCredential(described("updateCredential")), input);

  /**
   * Deletes a set to which nothing refers.
   * @returns a permanent obstacle; undefined if the set is gone
   */
  const remove = async (credentialsId: string): Promise<string | undefined> => {
    if (!can("deleteCredential"))
      return `the platform definition ${deployment.name} does not describe deleteCredential`;
    try {
      return await call(api.deleteCredential(described("deleteCredential")), { credentialsId });
    } catch (thrown) {
      if (!isDoubtful(thrown)) throw thrown;
      if ((await find(credentialsId)) === undefined) return undefined;
      if (!isRefusal(thrown)) throw thrown;
      return thrown.message;
    }
  };

  /** The account as the owner of its groups, whatever its users. */
  const owner = async () => ({ operatorId: (await client.whoAmI(signal)).operatorId });

  async function* groups(): AsyncGenerator<GroupRecord> {
    const operation = listGroups(described("listGroups"), await owner());
    for await (const { items } of client.pages(operation, {}, { signal })) yield* items;
  }

  const configure = async (groupId: string, namespace: string, entries: Readonly<Record<string, unknown>>) => {
    const operation = putGroupConfiguration(described("putGroupConfiguration"), await owner());
    await call(operation, { groupId, namespace, entries });
  };

  /** The references to each set, including those that may match it; undefined if the definition cannot list groups. */
  const referencesTo = async (sets: readonly { readonly credentialsId: string }[]) => {
    if (!can("listGroups")) return undefined;
    const found = new Map<string, Reference[]>(sets.map(({ credentialsId }) => [credentialsId, []]));
    for await (const group of groups()) {
      for (const [id, references] of found) references.push(...referencesIn(group, id));
    }
    return found;
  };

  /** The references to a set, as far as they are known. */
  const references = async (credentialsId: string): Promise<readonly Reference[]> =>
    (await referencesTo([{ credentialsId }]))?.get(credentialsId) ?? [];

  return { can, list, find, create, update, remove, groups, configure, referencesTo, references };
}

/** Whether the call may have been applied, now or in an earlier attempt. */
export function isDoubtful(thrown: unknown): thrown is PlatformError {
  return thrown instanceof PlatformError && (thrown.mayHaveApplied || isRefusal(thrown));
}

function isRefusal({ code }: PlatformError): boolean {
  return code === "PLATFORM_REJECTED" || code === "PLATFORM_RESPONSE_INVALID";
}
