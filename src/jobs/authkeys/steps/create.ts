/** First half of an AuthKey rotation: checks the slots, frees one if needed, creates the new AuthKey and verifies it. */
import { PlatformError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import { again, giveUp, move } from "#engine/steps.ts";
import type { CreatedAuthKey } from "../account.ts";
import { obstacleOf } from "../plan.ts";
import { type AuthKeyResult, revoked, type StepContext } from "./step-context.ts";

const pollAgainMs = 2_000;
/** A new AuthKey may take a moment to be accepted everywhere. */
const proofs = 5;

/** begun -> making-room | creating | failed */
export async function begin(step: StepContext): Promise<AuthKeyResult> {
  const { deps, record } = step;
  const { profile, replaceId } = record;
  const keys = await step.list();
  const users = await deps.users.list(profile);
  const oldId = deps.inUseHere();
  const obstacle = obstacleOf({ profile, keys, users, inUseHere: oldId, replaceId });
  if (obstacle !== undefined) return giveUp(obstacle);
  if (replaceId !== undefined) return move({ phase: "making-room", oldId });
  return move({ phase: "creating", oldId, knownIds: keys.map(({ authKeyId }) => authKeyId) });
}

/** making-room -> creating | taking-back */
export async function makeRoom(step: StepContext): Promise<AuthKeyResult> {
  const { replaceId = "" } = step.record;
  const end = await step.revokeUnused(replaceId);
  if (end === "used") return giveUp(`${replaceId} has come into use and cannot be revoked.`);
  if (end === "stays") return step.retry(`The platform still lists ${replaceId}.`, pollAgainMs);
  const keys = await step.list();
  const knownIds = keys.map(({ authKeyId }) => authKeyId);
  return move({ phase: "creating", knownIds }, revoked(replaceId, "replaced"));
}

/** creating -> created | taking-back */
export async function create(step: StepContext): Promise<AuthKeyResult> {
  const { deps, record } = step;
  const { oldId, knownIds, rotationId, profile } = record;
  const keys = await step.list();
  if (!keys.some(({ authKeyId }) => authKeyId === oldId)) return giveUp(`${oldId} no longer exists.`);
  const unknown = keys.find(({ authKeyId }) => !knownIds.includes(authKeyId));
  if (unknown !== undefined) {
    const { authKeyId } = unknown;
    if (!step.isOrphan(unknown)) return giveUp(`Another program created the AuthKey ${authKeyId} during the rotation.`);
    const end = await step.revokeUnused(authKeyId);
    if (end === "used") return giveUp(`The AuthKey ${authKeyId}, which this rotation did not make, is in use.`);
    return end === "gone"
      ? move({ askedAtMs: undefined }, revoked(authKeyId, "lost"))
      : step.retry(`The platform still lists ${authKeyId}.`, pollAgainMs);
  }
  await step.save({ askedAtMs: "now" });
  const made = await deps.account.create(step.signal);
  step.hold(made.authKey);
  const secrets = { authKeyId: new Secret(made.authKeyId), authKey: made.authKey };
  const sealed = await deps.seal.seal(rotationId, secrets);
  // An id is not secret.
  secrets.authKeyId.forget();
  const { authKeyId } = made;
  const event = { type: "authkey.created", fields: { authKeyId } } as const;
  await deps.rotations.move(step.record, { phase: "created", newId: authKeyId, sealed }, { events: [event] });
  const now = await deps.rotations.record(profile);
  // Another process was faster, and the secret of this AuthKey is lost.
  if (now?.newId !== authKeyId) await deps.account.revoke(authKeyId, step.signal);
  return again;
}

/** created -> verified | taking-back */
export async function prove(step: StepContext): Promise<AuthKeyResult> {
  const { record, deps } = step;
  const key = await openKey(step);
  try {
    await deps.account.prove(key);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_UNAUTHORIZED") throw thrown;
    if (record.tries + 1 >= proofs) return giveUp(`The new AuthKey is not accepted: ${thrown.message}`);
    return step.retry(thrown.message, pollAgainMs);
  }
  return move({ phase: "verified" }, { type: "authkey.verified", fields: { authKeyId: key.authKeyId } });
}

/** Decrypts the new AuthKey; the step forgets its secret when it ends. @throws SimfleetError SEAL_DECRYPTION_FAILED */
export async function openKey(step: StepContext): Promise<CreatedAuthKey> {
  const { rotationId, sealed = "" } = step.record;
  const { authKeyId, authKey } = await step.deps.seal.open(rotationId, sealed);
  if (authKeyId === undefined || authKey === undefined) throw new Error("the sealed AuthKey is not whole");
  authKeyId.forget();
  step.hold(authKey);
  return { authKeyId: authKeyId.reveal(), authKey };
}
