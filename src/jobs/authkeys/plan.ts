/** Checks whether an AuthKey can be rotated, before anything is changed. */
import type { AuthKeyUser } from "#engine/authkey-users.ts";
import type { AuthKey } from "#api/operations/auth-keys.ts";

/** AuthKeys that each user can have (interface, section 8). */
const slots = 2;

export interface AuthKeyStatus {
  readonly profile: string;
  /** A sub-user that the profile manages; absent: its own user. */
  readonly user?: string | undefined;
  /** All AuthKeys of the user. */
  readonly keys: readonly AuthKey[];
  /** Live processes and the AuthKey each uses. */
  readonly users: readonly AuthKeyUser[];
  /** The AuthKey that is replaced: the one that this process uses, or see `oldKeyOf`; undefined if there is none. */
  readonly inUseHere: string | undefined;
  /** The AuthKey that the user named to be revoked first. */
  readonly replaceId: string | undefined;
}

/** @returns the obstacle, or undefined */
export function obstacleOf(status: AuthKeyStatus): string | undefined {
  const { profile, keys, users, inUseHere, replaceId } = status;
  const known = keys.map(({ authKeyId }) => authKeyId).join(", ");
  if (inUseHere === undefined && status.user !== undefined) {
    return `The user ${status.user} has no AuthKey that could be rotated.`;
  }
  if (inUseHere === undefined) {
    return `The profile ${profile} does not authenticate with an AuthKey, so there is no AuthKey to rotate.`;
  }
  if (!keys.some(({ authKeyId }) => authKeyId === inUseHere)) {
    return `The AuthKey ${inUseHere} of the profile ${profile} is not in the platform's list (${known}).`;
  }
  if (replaceId === undefined) return keys.length < slots ? undefined : bothTaken(status);
  if (replaceId === inUseHere && status.user === undefined)
    return `${replaceId} is in use here and cannot be revoked first. Choose another with --replace.`;
  if (!keys.some(({ authKeyId }) => authKeyId === replaceId)) {
    return `There is no AuthKey ${replaceId}; there are ${known}.`;
  }
  const user = users.find(({ authKeyId }) => authKeyId === replaceId);
  return user === undefined
    ? undefined
    : `${replaceId} is in use by ${user.worker} and cannot go first. Let that process use another one.`;
}

/** The AuthKey of a sub-user that is replaced: of two, the one that was used last. */
export function oldKeyOf(keys: readonly AuthKey[], replaceId: string | undefined): string | undefined {
  const left = keys.filter(({ authKeyId }) => authKeyId !== replaceId);
  return left.toSorted((a, b) => (b.lastUsedAtMs ?? 0) - (a.lastUsedAtMs ?? 0))[0]?.authKeyId;
}

function bothTaken({ keys, users, inUseHere, user: owner }: AuthKeyStatus): string {
  const lines = keys.map((key) => {
    const { authKeyId, createdAtMs, lastUsedAtMs } = key;
    const by = users.filter((user) => user.authKeyId === authKeyId).map(({ worker }) => worker);
    const use =
      authKeyId === inUseHere && owner === undefined
        ? "in use here"
        : by.length > 0
          ? `in use by ${by.join(", ")}`
          : "";
    const facts = [`created ${dayOf(createdAtMs)}`, `last used ${dayOf(lastUsedAtMs)}`, use].filter(
      (fact) => fact !== "",
    );
    return `${authKeyId} (${facts.join(", ")})`;
  });
  const spare = keys.find(
    ({ authKeyId }) => authKeyId !== inUseHere && !users.some((user) => user.authKeyId === authKeyId),
  );
  const fix = spare === undefined ? "" : ` To revoke one first, add --replace ${spare.authKeyId}.`;
  return `The user already has two AuthKeys, the maximum: ${lines.join("; ")}.${fix}`;
}

function dayOf(atMs: number | undefined): string {
  return atMs === undefined ? "never or unknown" : new Date(atMs).toISOString();
}
