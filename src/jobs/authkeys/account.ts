/** The AuthKeys of the user that a profile authenticates as: the Root user's, or those of a sub-user. */
import type { PlatformClient } from "#api/client.ts";
import { type CreatedAuthKey, createAuthKey, listAuthKeys, revokeAuthKey } from "#api/operations/auth-keys.ts";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";

/** Operations that the deployment must define to rotate AuthKeys. */
export const authKeyOperationIds = ["listAuthKeys", "createAuthKey", "revokeAuthKey"] as const;

export type AuthKeyAccount = ReturnType<typeof authKeyAccount>;

/** @param described throws ConfigError if the deployment lacks the operation */
export function authKeyAccount(
  client: Pick<PlatformClient, "call" | "whoAmI" | "prove">,
  described: (id: (typeof authKeyOperationIds)[number]) => DeploymentOperation,
) {
  return {
    /** @throws PlatformError; ConfigError if the deployment defines no path for a sub-user's AuthKeys */
    list: async (signal?: AbortSignal) =>
      client.call(listAuthKeys(described("listAuthKeys"), await client.whoAmI(signal)), undefined, { signal }),

    /** @throws PlatformError, with `mayHaveApplied` if the platform may have created an AuthKey whose secret is lost */
    create: async (signal?: AbortSignal) =>
      client.call(createAuthKey(described("createAuthKey"), await client.whoAmI(signal)), undefined, { signal }),

    /** @throws PlatformError PLATFORM_REJECTED also if the AuthKey no longer exists */
    revoke: async (authKeyId: string, signal?: AbortSignal): Promise<void> => {
      const operation = revokeAuthKey(described("revokeAuthKey"), await client.whoAmI(signal));
      await client.call(operation, { authKeyId }, { signal });
    },

    /** Authenticates once with an AuthKey. @throws PlatformError PLATFORM_UNAUTHORIZED if the platform rejects it */
    prove: async (key: CreatedAuthKey): Promise<void> => void (await client.prove({ kind: "auth-key", ...key })),
  };
}
