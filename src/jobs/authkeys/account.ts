/**
 * The AuthKeys of the user that a profile authenticates as, or of a sub-user that this user may manage (interface, section
 * 1: the Root user may manage all of them), and whether one can be rotated.
 */
import type { PlatformClient } from "#api/client.ts";
import {
  type AuthKey,
  type CreatedAuthKey,
  createAuthKey,
  listAuthKeys,
  revokeAuthKey,
} from "#api/operations/auth-keys.ts";
import { SimfleetError } from "#core/errors.ts";
import type { AuthKeyUser } from "#engine/authkey-users.ts";
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
    revoke: async (authKeyId: string, signal?: AbortSignal) =>
      client.call(revokeAuthKey(described("revokeAuthKey"), await ownerOf(signal)), { authKeyId }, { signal }),

    /** Authenticates once with an AuthKey. @throws PlatformError PLATFORM_UNAUTHORIZED if the platform rejects it */
    prove: async (key: CreatedAuthKey): Promise<void> => void (await client.prove({ kind: "auth-key", ...key })),
  };
}

/** AuthKeys that each user can have (interface, section 8). */
const slots = 2;

interface Situation {
  readonly profile: string;
  /** A sub-user that the profile manages; absent: its own user. */
  readonly user?: string | undefined;
  readonly keys: readonly AuthKey[];
  /** Live processes and the AuthKey each uses. */
  readonly users: readonly AuthKeyUser[];
  /** The AuthKey that this process authenticates with. */
  readonly inUseHere: () => string | undefined;
  /** The AuthKey that the user named to be revoked first. */
  readonly replaceId: string | undefined;
}

/**
 * The AuthKey that a rotation replaces: the one that this process uses; of a sub-user's two, the one that was used last.
 * @throws SimfleetError ROTATION_STATE_CONFLICT with the obstacle
 */
export function keyToReplace(now: Situation): string {
  const { profile, user, keys, users, inUseHere, replaceId } = now;
  const others = keys.filter(({ authKeyId }) => authKeyId !== replaceId);
  const lastUsed = others.toSorted((a, b) => (b.lastUsedAtMs ?? 0) - (a.lastUsedAtMs ?? 0))[0]?.authKeyId;
  const oldId = user === undefined ? inUseHere() : lastUsed;
  const known = idsOf(keys);
  if (oldId === undefined) {
    const none = `The profile ${profile} does not authenticate with an AuthKey, so there is no AuthKey to rotate.`;
    throw conflict(user === undefined ? none : `The user ${user} has no AuthKey that could be rotated.`);
  }
  if (!known.includes(oldId)) {
    throw conflict(
      `The AuthKey ${oldId} of the profile ${profile} is not in the platform's list (${known.join(", ")}).`,
    );
  }
  if (replaceId === undefined) {
    if (known.length >= slots) throw conflict(bothTaken(now, oldId));
    return oldId;
  }
  if (replaceId === oldId && user === undefined) {
    throw conflict(`${replaceId} is in use here and cannot be revoked first. Choose another with --replace.`);
  }
  if (!known.includes(replaceId)) throw conflict(`There is no AuthKey ${replaceId}; there are ${known.join(", ")}.`);
  const [worker] = workersWith(replaceId, users);
  if (worker === undefined) return oldId;
  throw conflict(`${replaceId} is in use by ${worker} and cannot go first. Let that process use another one.`);
}

function conflict(message: string): SimfleetError {
  return new SimfleetError("ROTATION_STATE_CONFLICT", message);
}

function bothTaken({ user, keys, users }: Situation, oldId: string): string {
  const workers = (id: string): string => workersWith(id, users).join(", ");
  const lines = keys.map(({ authKeyId, createdAtMs, lastUsedAtMs }) => {
    const by = authKeyId === oldId && user === undefined ? "here" : workers(authKeyId) && `by ${workers(authKeyId)}`;
    const dates = `created ${dayOf(createdAtMs)}, last used ${dayOf(lastUsedAtMs)}`;
    return `${authKeyId} (${dates}${by && `, in use ${by}`})`;
  });
  const spare = idsOf(keys).find((id) => id !== oldId && workers(id) === "");
  const fix = spare === undefined ? "" : ` To revoke one first, add --replace ${spare}.`;
  return `The user already has two AuthKeys, the maximum: ${lines.join("; ")}.${fix}`;
}

function dayOf(atMs: number | undefined): string {
  return atMs === undefined ? "never or unknown" : new Date(atMs).toISOString();
}

export function idsOf(keys: readonly AuthKey[]): string[] {
  return keys.map(({ authKeyId }) => authKeyId);
}

export function workersWith(authKeyId: string, users: readonly AuthKeyUser[]): string[] {
  return users.filter((user) => user.authKeyId === authKeyId).map(({ worker }) => worker);
}
