/**
 * switched -> done: watches the old set, and deletes it after it was unused for the grace period. It is never deleted
 * while anything refers to it or while the new set does not exist.
 */
import { PlatformError } from "#core/errors.ts";
import { minuteMs } from "#core/time.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import { move, wait } from "#engine/steps.ts";
import { pollAgainMs, placeholdersLeft, reasonToKeep } from "./repoint.ts";
import type { RotationResult, StepContext } from "./step-context.ts";

/** How often the last use is checked during the grace period. */
const watchEveryMs = 60 * minuteMs;

export async function retire(step: StepContext): Promise<RotationResult> {
  const { oldId, newId } = step.record;
  if (oldId === undefined) return finish(step, []);
  const sets = await step.sets.list();
  const old = sets.find((set) => set.credentialsId === oldId);
  // Deleted by one of our calls whose response was lost, or manually.
  if (old === undefined) return finish(step, [unused(oldId)]);
  if (!sets.some((set) => set.credentialsId === newId)) {
    const reason = `the new Credential Set ${newId} is gone, so ${oldId} is kept`;
    const event = { type: "credential.unconfirmed", fields: { oldId, credentialsId: newId, reason } } as const;
    return wait({ isProblem: true, reason, delayMs: pollAgainMs, events: [event] });
  }
  const grace = await graceOf(step, oldId, old.lastUsedAtMs);
  if (grace !== undefined) return grace;
  const left = step.sets.can("listGroups") ? await step.sets.references(oldId) : [];
  if (left.length > 0) {
    const reason = reasonToKeep(oldId, left);
    const events = [placeholdersLeft({ oldId, newId }, left)];
    return wait({ change: { waitsFor: "reference" }, reason, delayMs: pollAgainMs, events });
  }
  const obstacle = await deleteSet(step, oldId);
  return finish(step, [unused(oldId), ...(obstacle === undefined ? [] : [leftBehind(oldId, obstacle)])]);
}

/** Waits for the end of the grace period, which each use of the old set restarts; undefined when it is over. */
async function graceOf(step: StepContext, oldId: string, lastUsedAtMs = 0): Promise<RotationResult | undefined> {
  const since = step.record.quietSinceMs ?? step.record.movedAtMs;
  if (lastUsedAtMs > since) {
    const lastUsedAt = new Date(lastUsedAtMs).toISOString();
    await step.save({ quietSinceMs: lastUsedAtMs }, [{ type: "credential.in-use", fields: { oldId, lastUsedAt } }]);
  }
  const endsAtMs = Math.max(since, lastUsedAtMs) + step.rotation.graceMs;
  const leftMs = endsAtMs - step.nowMs;
  if (leftMs <= 0) return undefined;
  const reason = `${oldId} is deleted if it stays unused until ${new Date(endsAtMs).toISOString()}`;
  return wait({ change: { waitsFor: "grace" }, reason, delayMs: Math.min(leftMs, watchEveryMs) });
}

/**
 * Deletes a set, after checking that nothing refers to it.
 * @returns a permanent obstacle; undefined if the set is gone
 */
export async function deleteSet(step: StepContext, credentialsId: string): Promise<string | undefined> {
  if (!step.sets.can("deleteCredential")) {
    return `the deployment ${step.account.deployment.name} does not describe deleteCredential`;
  }
  try {
    await step.sets.delete(credentialsId);
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    const isRefused = thrown.code === "PLATFORM_REJECTED" || thrown.code === "PLATFORM_RESPONSE_INVALID";
    if (!isRefused && !thrown.mayHaveApplied) throw thrown;
    if ((await step.sets.find(credentialsId)) === undefined) return undefined;
    if (isRefused) return thrown.message;
    throw thrown;
  }
}

export function leftBehind(credentialsId: string, reason: string): MoveEvent {
  return { type: "credential.orphaned", fields: { credentialsId, reason } };
}

function unused(oldId: string): MoveEvent {
  return { type: "credential.unused", fields: { oldId } };
}

function finish(step: StepContext, events: readonly MoveEvent[]): RotationResult {
  const { oldId, newId } = step.record;
  const left = events.find(({ type }) => type === "credential.orphaned")?.fields.reason;
  const reason = left === undefined ? undefined : `${oldId} must be deleted manually: ${left}`;
  const rotated = { type: "credential.rotated", fields: { credentialsId: newId, oldId } } as const;
  return move({ state: "done", finishedAtMs: step.nowMs, sealed: undefined, reason }, ...events, rotated);
}
