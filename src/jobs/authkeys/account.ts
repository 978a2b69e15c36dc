/** The AuthKeys of the user that a profile authenticates as: the Root user's, or those of a sub-user. */
import type { PlatformClient } from "#api/client.ts";
import {
  type AuthKey,
  type CreatedAuthKey,
  createAuthKey,
  listAuthKeys,
  revokeAuthKey,
} from "#api/operations/auth-keys.ts";
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

export type AuthKeyAccount = ReturnType<typeof authKeyAccount>;

export function authKeyAccount(
  client: Pick<PlatformClient, "call" | "whoAmI" | "prove">,
  operations: AuthKeyOperations,
) {
  return {
    /** @throws as `listKeys` */
    list: (signal?: AbortSignal): Promise<AuthKey[]> => listKeys(client, operations.listAuthKeys, signal),

    /** @throws PlatformError, with `mayHaveApplied` if the platform may have created an AuthKey whose secret is lost */
    create: async (signal?: AbortSignal): Promise<CreatedAuthKey> => {
      const operation = createAuthKey(operations.createAuthKey, await client.whoAmI(signal));
      return client.call(operation, undefined, { signal });
    },

    /** @throws PlatformError PLATFORM_REJECTED also if the AuthKey no longer exists */
    revoke: async (authKeyId: string, signal?: AbortSignal): Promise<void> => {
      const operation = revokeAuthKey(operations.revokeAuthKey, await client.whoAmI(signal));
      await client.call(operation, { authKeyId }, { signal });
    },

    /** Authenticates once with an AuthKey. @throws PlatformError PLATFORM_UNAUTHORIZED if the platform rejects it */
    prove: async ({ authKeyId, authKey }: CreatedAuthKey): Promise<void> => {
      await client.prove({ kind: "auth-key", authKeyId, authKey });
    },
  };
}
