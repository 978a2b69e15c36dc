/**
 * The Credential Sets of an account and the references to them, as far as the deployment defines the operations. For missing
 * operations, `can…` returns false, and the others throw an error that says what to add.
 */
import type { PlatformClient } from "#api/client.ts";
import {
  type CredentialTypes,
  type CredentialInput,
  type CredentialSet,
  createCredential,
  deleteCredential,
  listCredentials,
  updateCredential,
} from "#api/operations/credentials.ts";
import { type GroupRecord, listGroups, putGroupConfiguration } from "#api/operations/groups.ts";
import type { Operation } from "#api/operations/operation.ts";
import { PlatformError } from "#core/errors.ts";
import type { DeploymentOperationId, DeploymentOperations } from "#fleet/deployment-operation.ts";
import { requireOperation } from "#fleet/required-operation.ts";
import { type Reference, referencesIn } from "./references.ts";

/** The account of a profile, as far as rotations need it. */
export interface RotationAccount {
  readonly client: Pick<PlatformClient, "call" | "pages" | "whoAmI">;
  readonly deployment: {
    readonly name: string;
    readonly operations: DeploymentOperations;
    readonly credentialTypes: CredentialTypes;
  };
  /** Maximum number of Credential Sets (interface, section 8). */
  readonly maxSets: number;
}

export const feature = "Rotating Credential Sets";

export class AccountSets {
  readonly #account: RotationAccount;
  readonly #signal: AbortSignal;
  readonly #purpose: string;

  /** @param purpose what a missing operation is needed for, as the start of a sentence */
  constructor(account: RotationAccount, signal: AbortSignal, purpose: string = feature) {
    this.#account = account;
    this.#signal = signal;
    this.#purpose = purpose;
  }

  /** Whether the deployment defines an operation. */
  can(id: DeploymentOperationId): boolean {
    return this.#account.deployment.operations[id] !== undefined;
  }

  /** @throws PlatformError; ConfigError if the deployment lacks the operation, as for all others in this class */
  list(): Promise<CredentialSet[]> {
    return this.#call(listCredentials(this.#described("listCredentials")), undefined);
  }

  async find(credentialsId: string): Promise<CredentialSet | undefined> {
    return (await this.list()).find((set) => set.credentialsId === credentialsId);
  }

  create(input: CredentialInput): Promise<CredentialSet> {
    return this.#call(createCredential, input);
  }

  update(input: CredentialInput): Promise<CredentialSet> {
    return this.#call(updateCredential(this.#described("updateCredential")), input);
  }

  /**
   * Deletes a set to which nothing refers.
   * @returns a permanent obstacle; undefined if the set is gone
   */
  async remove(credentialsId: string): Promise<string | undefined> {
    if (!this.can("deleteCredential")) {
      return `the platform definition ${this.#account.deployment.name} does not describe deleteCredential`;
    }
    try {
      await this.#call(deleteCredential(this.#described("deleteCredential")), { credentialsId });
      return undefined;
    } catch (thrown) {
      if (!(thrown instanceof PlatformError)) throw thrown;
      const isRefused = thrown.code === "PLATFORM_REJECTED" || thrown.code === "PLATFORM_RESPONSE_INVALID";
      if (!isRefused && !thrown.mayHaveApplied) throw thrown;
      if ((await this.find(credentialsId)) === undefined) return undefined;
      if (isRefused) return thrown.message;
      throw thrown;
    }
  }

  /** Every group, page by page. */
  async *groups(): AsyncGenerator<GroupRecord> {
    const operation = listGroups(this.#described("listGroups"), await this.#account.client.whoAmI(this.#signal));
    const pages = this.#account.client.pages(operation, {}, { signal: this.#signal });
    for await (const page of pages) yield* page.items;
  }

  /** Sets keys in one namespace of a group's configuration. */
  async configure(groupId: string, namespace: string, entries: Readonly<Record<string, unknown>>): Promise<void> {
    const operation = putGroupConfiguration(
      this.#described("putGroupConfiguration"),
      await this.#account.client.whoAmI(this.#signal),
    );
    await this.#call(operation, { groupId, namespace, entries });
  }

  /** The references to a set, including those that may match it. */
  async references(credentialsId: string): Promise<Reference[]> {
    const found: Reference[] = [];
    for await (const group of this.groups()) found.push(...referencesIn(group, credentialsId));
    return found;
  }

  #described(id: DeploymentOperationId) {
    return requireOperation(this.#account.deployment, id, this.#purpose);
  }

  /** Rotations make few calls and wait long, so their calls have priority over those of a run. */
  #call<I, O>(operation: Operation<I, O>, input: I): Promise<O> {
    return this.#account.client.call(operation, input, { signal: this.#signal, urgency: "priority" });
  }
}
