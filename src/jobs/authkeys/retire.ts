/** Revokes an AuthKey: the old one once it is no longer used, or the new one if the rotation is rolled back. */
import { failed, type Next, revoked, type Turn } from "./turn.ts";

const pollAgainMs = 2_000;
const pollIntervalMs = { least: 2_000, most: 60_000 };

/** taken-up -> revoking, or revoked if another process was faster */
export async function awaitQuiet(turn: Turn): Promise<Next> {
  const { record, deps } = turn;
  const { profile, oldId = "", quietSinceMs = 0, lastUsedAtMs = 0 } = record;
  const everyMs = Math.min(Math.max(deps.quietMs / 20, pollIntervalMs.least), pollIntervalMs.most);
  const key = (await turn.list()).find(({ authKeyId }) => authKeyId === oldId);
  if (key === undefined) return turn.to({ phase: "revoked" });
  const users = (await deps.users.list(profile)).filter(({ authKeyId }) => authKeyId === oldId);
  const isUsedHere = deps.inUseHere() === oldId;
  const usedAtMs = key.lastUsedAtMs ?? 0;
  if (users.length > 0 || isUsedHere || usedAtMs > lastUsedAtMs) {
    const who = isUsedHere ? "this process" : users.map(({ worker }) => worker).join(", ") || "somebody";
    const reason = `${oldId} is still used by ${who}.`;
    return turn.wait(everyMs, reason, { quietSinceMs: "now", ...(usedAtMs > 0 ? { lastUsedAtMs: usedAtMs } : {}) });
  }
  const leftMs = quietSinceMs + deps.quietMs - (await deps.rotations.nowMs());
  if (leftMs > 0) {
    const untilWhen = new Date(quietSinceMs + deps.quietMs).toISOString();
    return turn.wait(Math.min(everyMs, leftMs), `${oldId} is revoked once nobody has used it until ${untilWhen}.`);
  }
  const reply = await deps.rotations.move(record, { phase: "revoking" }, { unused: oldId });
  return reply === "used" ? turn.wait(everyMs, `${oldId} is in use again.`, { quietSinceMs: "now" }) : "again";
}

/** revoking -> revoked, or back to taken-up */
export async function revokeOld(turn: Turn): Promise<Next> {
  const { oldId = "" } = turn.record;
  const end = await turn.revokeUnused(oldId);
  if (end === "used") return turn.to({ phase: "taken-up", quietSinceMs: "now" });
  if (end === "stays") return turn.retry(`The platform still lists ${oldId}.`, pollAgainMs);
  return turn.to({ phase: "revoked" }, revoked(oldId, "rotated"));
}

/** revoked -> done */
export function finish(turn: Turn): Promise<Next> {
  const { oldId = "", newId = "" } = turn.record;
  return turn.to(
    { phase: "done", finishedAtMs: "now", sealed: undefined },
    { type: "authkey.rotated", fields: { authKeyId: newId, oldId } },
  );
}

/** taking-back -> failed */
export async function takeBack(turn: Turn): Promise<Next> {
  const { newId, oldId, reason = "no reason is known" } = turn.record;
  const mine = (await turn.list()).filter((key) => key.authKeyId === newId || turn.isOrphan(key));
  const [first] = mine;
  if (first === undefined) return turn.to(...failed(reason, oldId));
  const { authKeyId } = first;
  const end = await turn.revokeUnused(authKeyId);
  if (end === "used") return turn.wait(pollAgainMs, `${authKeyId} is in use and is not revoked under anybody's hands.`);
  if (end === "stays") return turn.retry(`The platform still lists ${authKeyId}.`, pollAgainMs);
  return turn.to({}, revoked(authKeyId, "taken-back"));
}
