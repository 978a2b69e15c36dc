/**
 * The AuthKeys of the user that a profile authenticates as, or of a sub-user that this user may manage (interface, section
 * 1: the Root user may manage all of them).
 */
import type { PlatformClient } from "#api/client.ts";
import { type CreatedAuthKey, createAuthKey, listAuthKeys, revokeAuthKey } from "#api/operations/auth-keys.ts";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";

/** Operations that the deployment must define to rotate AuthKeys. */
export const authKeyOperationIds = ["listAuthKeys", "createAuthKey", "revokeAuthKey"] as const;

export type AuthKeyAccount = ReturnType<typeof authKeyAccount>;

/**
 * @param described throws ConfigError if the deployment lacks the operation
 * @param user absent: the profile's own
 */
export function authKeyAccount(
  client: Pick<PlatformClient, "call" | "whoAmI" | "prove">,
  described: (id: (typeof authKeyOperationIds)[number]) => DeploymentOperation,
  user?: string,
) {
  const ownerOf = async (signal: AbortSignal | undefined) => {
    const { operatorId, userName } = await client.whoAmI(signal);
    return { operatorId, userName: user ?? userName };
  };
  return {
    /** @throws PlatformError; ConfigError if the deployment defines no path for a sub-user's AuthKeys */
    list: async (signal?: AbortSignal) =>
      client.call(listAuthKeys(described("listAuthKeys"), await ownerOf(signal)), undefined, { signal }),

    /** @throws PlatformError, with `mayHaveApplied` if the platform may have created an AuthKey whose secret is lost */
    create: async (signal?: AbortSignal) =>
      client.call(createAuthKey(described("createAuthKey"), await ownerOf(signal)), undefined, { signal }),

    /** @throws PlatformError PLATFORM_REJECTED also if the AuthKey no longer exists */
    revoke: async (authKeyId: string, signal?: AbortSignal): Promise<void> => {
      const operation = revokeAuthKey(described("revokeAuthKey"), await ownerOf(signal));
      await client.call(operation, { authKeyId }, { signal });
    },

    /** Authenticates once with an AuthKey. @throws PlatformError PLATFORM_UNAUTHORIZED if the platform rejects it */
    prove: async (key: CreatedAuthKey): Promise<void> => void (await client.prove({ kind: "auth-key", ...key })),
  };
}
