/** Revokes an AuthKey: the old one once it is no longer used, or the new one if the rotation is rolled back. */
import { again, move, wait } from "#engine/steps.ts";
import { type AuthKeyResult, failed, revoked, type StepContext } from "./step-context.ts";
import type { AuthKeyChange } from "../record.ts";

const pollAgainMs = 2_000;
const pollIntervalMs = { min: 2_000, max: 60_000 };

/** active -> revoking, or revoked if another process was faster */
export async function awaitQuiet(step: StepContext): Promise<AuthKeyResult> {
  const { record, deps } = step;
  const { profile, oldId = "", quietSinceMs = 0, lastUsedAtMs = 0 } = record;
  const everyMs = Math.min(Math.max(deps.quietMs / 20, pollIntervalMs.min), pollIntervalMs.max);
  const key = (await step.list()).find(({ authKeyId }) => authKeyId === oldId);
  if (key === undefined) return move({ phase: "revoked" });
  const users = (await deps.users.list(profile)).filter(({ authKeyId }) => authKeyId === oldId);
  const isUsedHere = deps.inUseHere() === oldId;
  const usedAtMs = key.lastUsedAtMs ?? 0;
  if (users.length > 0 || isUsedHere || usedAtMs > lastUsedAtMs) {
    const who = isUsedHere ? "this process" : users.map(({ worker }) => worker).join(", ") || "another program";
    const reason = `waiting until ${oldId} is unused; ${who} still uses it`;
    const used: AuthKeyChange = usedAtMs > 0 ? { lastUsedAtMs: usedAtMs } : {};
    return wait({ delayMs: everyMs, reason, change: { quietSinceMs: "now", ...used } });
  }
  const leftMs = quietSinceMs + deps.quietMs - (await deps.rotations.nowMs());
  if (leftMs > 0) {
    const untilWhen = new Date(quietSinceMs + deps.quietMs).toISOString();
    const reason = `waiting until ${untilWhen}: ${oldId} is revoked then if it stays unused`;
    return wait({ delayMs: Math.min(everyMs, leftMs), reason });
  }
  const reply = await deps.rotations.move(record, { phase: "revoking" }, { unused: oldId });
  if (reply !== "used") return again;
  return wait({
    delayMs: everyMs,
    reason: `waiting until ${oldId} is unused; it is in use again`,
    change: { quietSinceMs: "now" },
  });
}

/** revoking -> revoked, or back to active */
export async function revokeOld(step: StepContext): Promise<AuthKeyResult> {
  const { oldId = "" } = step.record;
  const end = await step.revokeUnused(oldId);
  if (end === "used") return move({ phase: "active", quietSinceMs: "now" });
  if (end === "stays") return step.retry(`The platform still lists ${oldId}.`, pollAgainMs);
  return move({ phase: "revoked" }, revoked(oldId, "rotated"));
}

/** revoked -> done */
export function finish(step: StepContext): AuthKeyResult {
  const { oldId = "", newId = "" } = step.record;
  return move(
    { phase: "done", finishedAtMs: "now", sealed: undefined },
    { type: "authkey.rotated", fields: { authKeyId: newId, oldId } },
  );
}

/** taking-back -> failed */
export async function takeBack(step: StepContext): Promise<AuthKeyResult> {
  const { newId, oldId, reason = "no reason is known" } = step.record;
  const mine = (await step.list()).filter((key) => key.authKeyId === newId || step.isOrphan(key));
  const [first] = mine;
  if (first === undefined) {
    const { change, event } = failed(reason, oldId);
    return move(change, event);
  }
  const { authKeyId } = first;
  const end = await step.revokeUnused(authKeyId);
  if (end === "used") {
    return wait({ delayMs: pollAgainMs, reason: `${authKeyId} is in use and is revoked once it is unused.` });
  }
  if (end === "stays") return step.retry(`The platform still lists ${authKeyId}.`, pollAgainMs);
  return move({}, revoked(authKeyId, "taken-back"));
}
