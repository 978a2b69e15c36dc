/** First half of an AuthKey rotation: checks the slots, frees one if needed, creates the new AuthKey and verifies it. */
import { PlatformError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import type { CreatedAuthKey } from "./account.ts";
import { obstacleOf } from "./plan.ts";
import { type Next, revoked, type Turn } from "./turn.ts";

const pollAgainMs = 2_000;
/** A new AuthKey may take a moment to be accepted everywhere. */
const proofs = 5;

/** begun -> making-room | creating | failed */
export async function begin(turn: Turn): Promise<Next> {
  const { deps, record } = turn;
  const { profile, replaceId } = record;
  const keys = await turn.list();
  const users = await deps.users.list(profile);
  const oldId = deps.inUseHere();
  const obstacle = obstacleOf({ profile, keys, users, inUseHere: oldId, replaceId });
  if (obstacle !== undefined) return turn.takeBack(obstacle);
  if (replaceId !== undefined) return turn.to({ phase: "making-room", oldId });
  return turn.to({ phase: "creating", oldId, knownIds: keys.map(({ authKeyId }) => authKeyId) });
}

/** making-room -> creating | taking-back */
export async function makeRoom(turn: Turn): Promise<Next> {
  const { replaceId = "" } = turn.record;
  const end = await turn.revokeUnused(replaceId);
  if (end === "used") return turn.takeBack(`${replaceId} has come into use and cannot be revoked.`);
  if (end === "stays") return turn.retry(`The platform still lists ${replaceId}.`, pollAgainMs);
  const keys = await turn.list();
  const knownIds = keys.map(({ authKeyId }) => authKeyId);
  return turn.to({ phase: "creating", knownIds }, revoked(replaceId, "replaced"));
}

/** creating -> created | taking-back */
export async function create(turn: Turn): Promise<Next> {
  const { deps, record } = turn;
  const { oldId, knownIds, rotationId, profile } = record;
  const keys = await turn.list();
  if (!keys.some(({ authKeyId }) => authKeyId === oldId)) return turn.takeBack(`${oldId} is not there any more.`);
  const stranger = keys.find(({ authKeyId }) => !knownIds.includes(authKeyId));
  if (stranger !== undefined) {
    const { authKeyId } = stranger;
    if (!turn.isOrphan(stranger)) return turn.takeBack(`Somebody else has made the AuthKey ${authKeyId} meanwhile.`);
    const end = await turn.revokeUnused(authKeyId);
    if (end === "used") return turn.takeBack(`The AuthKey ${authKeyId}, which this rotation did not make, is in use.`);
    return end === "gone"
      ? turn.to({ askedAtMs: undefined }, revoked(authKeyId, "lost"))
      : turn.retry(`The platform still lists ${authKeyId}.`, pollAgainMs);
  }
  if ((await deps.rotations.move(record, { askedAtMs: "now" })) !== "moved") return "again";
  const made = await deps.account.create(turn.signal);
  turn.hold(made.authKey);
  const secrets = { authKeyId: new Secret(made.authKeyId), authKey: made.authKey };
  const sealed = await deps.seal.seal(rotationId, secrets);
  // An id is not secret.
  secrets.authKeyId.forget();
  const { authKeyId } = made;
  const event = { type: "authkey.created", fields: { authKeyId } } as const;
  await deps.rotations.move(record, { phase: "created", newId: authKeyId, sealed }, { events: [event] });
  const now = await deps.rotations.record(profile);
  // Another process was faster, and the secret of this AuthKey is lost.
  if (now?.newId !== authKeyId) await deps.account.revoke(authKeyId, turn.signal);
  return "again";
}

/** created -> proved | taking-back */
export async function prove(turn: Turn): Promise<Next> {
  const { record, deps } = turn;
  const key = await openKey(turn);
  try {
    await deps.account.prove(key);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_UNAUTHORIZED") throw thrown;
    if (record.tries + 1 >= proofs) return turn.takeBack(`The new AuthKey is not accepted: ${thrown.message}`);
    return turn.retry(thrown.message, pollAgainMs);
  }
  return turn.to({ phase: "proved" }, { type: "authkey.verified", fields: { authKeyId: key.authKeyId } });
}

/** Decrypts the new AuthKey; the step forgets its secret when it ends. @throws SimfleetError SEAL_DECRYPTION_FAILED */
export async function openKey(turn: Turn): Promise<CreatedAuthKey> {
  const { rotationId, sealed = "" } = turn.record;
  const { authKeyId, authKey } = await turn.deps.seal.open(rotationId, sealed);
  if (authKeyId === undefined || authKey === undefined) throw new Error("the sealed AuthKey is not whole");
  authKeyId.forget();
  turn.hold(authKey);
  return { authKeyId: authKeyId.reveal(), authKey };
}
