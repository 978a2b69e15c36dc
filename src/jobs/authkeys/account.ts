/** The AuthKeys of the user that a profile authenticates as: the Root user's, or those of a sub-user. */
import type { PlatformClient } from "#api/client.ts";
import {
  type AuthKey,
  type CreatedAuthKey,
  createAuthKey,
  listAuthKeys,
  revokeAuthKey,
} from "#api/operations/auth-keys.ts";
import type { Owner } from "#api/operations/described.ts";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";

export type { AuthKey, CreatedAuthKey } from "#api/operations/auth-keys.ts";

/** Operations that the deployment must define to rotate AuthKeys. */
export const authKeyOperationIds = ["listAuthKeys", "createAuthKey", "revokeAuthKey"] as const;

export type AuthKeyOperations = Readonly<Record<(typeof authKeyOperationIds)[number], DeploymentOperation>>;

/**
 * The AuthKeys of the user that a client authenticates as.
 * @throws PlatformError; ConfigError if the deployment defines no path for a sub-user's AuthKeys
 */
export async function listKeys(
  client: Pick<PlatformClient, "call" | "whoAmI">,
  description: DeploymentOperation,
  signal?: AbortSignal,
): Promise<AuthKey[]> {
  const operation = listAuthKeys(description, await client.whoAmI(signal));
  return client.call(operation, undefined, { signal });
}

export class AuthKeyAccount {
  readonly #client: Pick<PlatformClient, "call" | "whoAmI" | "prove">;
  readonly #operations: AuthKeyOperations;

  constructor(client: Pick<PlatformClient, "call" | "whoAmI" | "prove">, operations: AuthKeyOperations) {
    this.#client = client;
    this.#operations = operations;
  }

  /** @throws as `listKeys` */
  list(signal?: AbortSignal): Promise<AuthKey[]> {
    return listKeys(this.#client, this.#operations.listAuthKeys, signal);
  }

  /** @throws PlatformError, with `mayHaveApplied` if the platform may have created an AuthKey whose secret is lost */
  async create(signal?: AbortSignal): Promise<CreatedAuthKey> {
    const operation = createAuthKey(this.#operations.createAuthKey, await this.#owner(signal));
    return this.#client.call(operation, undefined, { signal });
  }

  /** @throws PlatformError PLATFORM_REJECTED also if the AuthKey no longer exists */
  async revoke(authKeyId: string, signal?: AbortSignal): Promise<void> {
    const operation = revokeAuthKey(this.#operations.revokeAuthKey, await this.#owner(signal));
    await this.#client.call(operation, { authKeyId }, { signal });
  }

  /** Authenticates once with an AuthKey. @throws PlatformError PLATFORM_UNAUTHORIZED if the platform rejects it */
  async prove({ authKeyId, authKey }: CreatedAuthKey): Promise<void> {
    await this.#client.prove({ kind: "auth-key", authKeyId, authKey });
  }

  #owner(signal: AbortSignal | undefined): Promise<Owner> {
    return this.#client.whoAmI(signal);
  }
}
