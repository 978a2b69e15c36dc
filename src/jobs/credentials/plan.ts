/**
 * Checks in advance everything that could prevent a rotation from completing: the deployment's operations, the sinks, and
 * the account's sets.
 */
import type { CredentialSet } from "#api/operations/credentials.ts";
import { ConfigError, SimfleetError } from "#core/errors.ts";
import { isSetOf, successorId } from "#fleet/rotation.ts";
import { requireOperations } from "#fleet/required-operation.ts";
import type { Rotation } from "./config.ts";
import type { RotationHead, RotationRecord } from "./record.ts";
import { type RotationAccount, accountSets, feature } from "./account-sets.ts";
import { newRotationId } from "./rotation-machine.ts";
import { sinkFault } from "./sinks.ts";

const needed = { successor: ["listCredentials"], "in-place": ["listCredentials", "updateCredential"] } as const;

/**
 * The initial record of a rotation.
 * @param terms `record` is that of the previous rotation
 * @throws ConfigError for operations that the deployment lacks and for unusable sinks
 * @throws SimfleetError ROTATION_STATE_CONFLICT if the account's sets do not allow it; PlatformError
 */
export async function planRotation(
  rotation: Rotation,
  terms: { account: RotationAccount; record: RotationRecord | undefined; nowMs: number },
  signal: AbortSignal,
): Promise<RotationHead> {
  const { account, record, nowMs } = terms;
  const { name, profile, strategy, type, credentialsId } = rotation;
  requireOperations(account.deployment, needed[strategy], feature);
  const faults = await Promise.all(rotation.sinks.map(sinkFault));
  const problems = faults.flatMap((fault, i) =>
    fault === undefined
      ? []
      : [{ where: `rotations.${name}.sinks.${i}`, message: `${fault}. Nothing has happened yet.` }],
  );
  if (problems.length > 0) throw new ConfigError(problems);
  const platform = accountSets(account, signal);
  const sets = await platform.list();
  const current = currentSet(rotation, record, sets);
  if (current !== undefined && current.type !== undefined && current.type !== type) {
    throw refused(
      `the Credential Set ${current.credentialsId} is of type ${current.type}, and rotations.${name}.type says ${type}`,
    );
  }
  const head = { name, profile, strategy, type, rotationId: newRotationId("t", nowMs), startedAtMs: nowMs };
  const isInPlace = strategy === "in-place";
  if (isInPlace && sets.some((set) => set.credentialsId === credentialsId)) {
    return { ...head, oldId: credentialsId, newId: credentialsId };
  }
  if (sets.length >= account.maxSets) {
    throw refused(
      `the account has ${sets.length} Credential Sets and may have ${account.maxSets}, so there is no room for another: delete one that nothing uses (simfleet credentials list), or raise limits.credentialSets if support has raised the limit`,
    );
  }
  if (isInPlace) return { ...head, newId: credentialsId };
  const taken = new Set(sets.map((set) => set.credentialsId));
  // Groups can refer to a set that does not exist (yet): they are changed to refer to the first one that does.
  const isNamed = current === undefined && (await platform.references(credentialsId)).length > 0;
  const oldId = current?.credentialsId ?? (isNamed ? credentialsId : undefined);
  return { ...head, oldId, newId: successorId(credentialsId, nowMs, taken) };
}

/** The configured rotations of a profile. */
export function rotationsOf(profile: string, rotations: Readonly<Record<string, Rotation>>): Rotation[] {
  return Object.values(rotations).filter((one) => one.profile === profile);
}

/** The active set: the one of the previous rotation, otherwise the newest that belongs to this rotation. */
export function currentSet(
  rotation: Rotation,
  record: Pick<RotationRecord, "currentId"> | undefined,
  sets: readonly CredentialSet[],
): CredentialSet | undefined {
  const own = sets.filter((set) => isSetOf(rotation, set.credentialsId));
  const known = own.find((set) => set.credentialsId === record?.currentId);
  // Successors are sorted by time, after the first set.
  return known ?? own.toSorted((a, b) => (a.credentialsId < b.credentialsId ? 1 : -1))[0];
}

export function refused(message: string): SimfleetError {
  return new SimfleetError("ROTATION_STATE_CONFLICT", `${message}. Nothing has happened yet`);
}
