/** Checks whether an AuthKey can be rotated, before anything is changed. */
import type { AuthKeyUser } from "#engine/authkey-users.ts";
import type { AuthKey } from "#api/operations/auth-keys.ts";

/** AuthKeys that each user can have (interface, section 8). */
const slots = 2;

export interface AuthKeyStatus {
  readonly profile: string;
  /** All AuthKeys of the user. */
  readonly keys: readonly AuthKey[];
  /** Live processes and the AuthKey each uses. */
  readonly users: readonly AuthKeyUser[];
  /** The AuthKey that this process uses; undefined if it authenticates in another way. */
  readonly inUseHere: string | undefined;
  /** The AuthKey that the user named to be revoked first. */
  readonly replaceId: string | undefined;
}

/** @returns the obstacle, or undefined */
export function obstacleOf(status: AuthKeyStatus): string | undefined {
  const { profile, keys, users, inUseHere, replaceId } = status;
  const known = keys.map(({ authKeyId }) => authKeyId).join(", ");
  if (inUseHere === undefined) {
    return `The profile ${profile} does not authenticate with an AuthKey, so there is no AuthKey to rotate.`;
  }
  if (!keys.some(({ authKeyId }) => authKeyId === inUseHere)) {
    return `The AuthKey ${inUseHere} of the profile ${profile} is not among those that the platform lists (${known}).`;
  }
  if (replaceId === undefined) return keys.length < slots ? undefined : bothTaken(status);
  if (replaceId === inUseHere)
    return `${replaceId} is in use here and cannot be revoked first. Choose another with --replace.`;
  if (!keys.some(({ authKeyId }) => authKeyId === replaceId)) {
    return `There is no AuthKey ${replaceId}; there are ${known}.`;
  }
  const user = users.find(({ authKeyId }) => authKeyId === replaceId);
  return user === undefined
    ? undefined
    : `${replaceId} is in use by ${user.worker} and cannot go first. Let that process use another one.`;
}

function bothTaken({ keys, users, inUseHere }: AuthKeyStatus): string {
  const lines = keys.map((key) => {
    const { authKeyId, createdAtMs, lastUsedAtMs } = key;
    const by = users.filter((user) => user.authKeyId === authKeyId).map(({ worker }) => worker);
    const use = authKeyId === inUseHere ? "in use here" : by.length > 0 ? `in use by ${by.join(", ")}` : "";
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
