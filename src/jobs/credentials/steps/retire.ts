/**
 * repointed -> done: watches the old set, and deletes it after it was unused for the grace period. It is never deleted
 * while anything refers to it or while the new set does not exist.
 */
import { PlatformError } from "#core/errors.ts";
import { minuteMs } from "#core/time.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import { pollAgainMs, placeholdersLeft, reasonToKeep } from "./repoint.ts";
import type { Turn } from "./turn.ts";

/** How often the last use is checked during the grace period. */
const watchEveryMs = 60 * minuteMs;

export async function retire(turn: Turn): Promise<void> {
  const { oldId, newId } = turn.record;
  if (oldId === undefined) return finish(turn, []);
  const sets = await turn.sets.list();
  const old = sets.find((set) => set.credentialsId === oldId);
  // Deleted by one of our calls whose response was lost, or manually.
  if (old === undefined) return finish(turn, [unused(oldId)]);
  if (!sets.some((set) => set.credentialsId === newId)) {
    const reason = `the new Credential Set ${newId} is gone, so ${oldId} is kept`;
    return turn.wait({ waitsFor: "fault", reason, delayMs: pollAgainMs }, [
      { type: "credential.unconfirmed", fields: { oldId, credentialsId: newId, reason } },
    ]);
  }
  if (await isInGrace(turn, oldId, old.lastUsedAtMs)) return;
  const left = turn.sets.can("listGroups") ? await turn.sets.references(oldId) : [];
  if (left.length > 0) {
    const reason = reasonToKeep(oldId, left);
    return turn.wait({ waitsFor: "reference", reason, delayMs: pollAgainMs }, [
      placeholdersLeft({ oldId, newId }, left),
    ]);
  }
  const obstacle = await deleteSet(turn, oldId);
  await finish(turn, [unused(oldId), ...(obstacle === undefined ? [] : [leftBehind(oldId, obstacle)])]);
}

/** Whether the grace period is running; each use of the old set restarts it. */
async function isInGrace(turn: Turn, oldId: string, lastUsedAtMs = 0): Promise<boolean> {
  const since = turn.record.quietSinceMs ?? turn.record.movedAtMs;
  if (lastUsedAtMs > since) {
    const lastUsedAt = new Date(lastUsedAtMs).toISOString();
    await turn.move({ quietSinceMs: lastUsedAtMs }, [{ type: "credential.in-use", fields: { oldId, lastUsedAt } }]);
  }
  const endsAtMs = Math.max(since, lastUsedAtMs) + turn.rotation.graceMs;
  const leftMs = endsAtMs - turn.nowMs;
  if (leftMs <= 0) return false;
  const reason = `${oldId} is deleted when it was out of use until ${new Date(endsAtMs).toISOString()}`;
  await turn.wait({ waitsFor: "grace", reason, delayMs: Math.min(leftMs, watchEveryMs) });
  return true;
}

/**
 * Deletes a set, after checking that nothing refers to it.
 * @returns a permanent obstacle; undefined if the set is gone
 */
export async function deleteSet(turn: Turn, credentialsId: string): Promise<string | undefined> {
  if (!turn.sets.can("deleteCredential")) {
    return `the deployment ${turn.account.deployment.name} does not describe deleteCredential`;
  }
  try {
    await turn.sets.delete(credentialsId);
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    const isRefused = thrown.code === "PLATFORM_REJECTED" || thrown.code === "PLATFORM_CONTRACT";
    if (!isRefused && !thrown.mayHaveApplied) throw thrown;
    if ((await turn.sets.find(credentialsId)) === undefined) return undefined;
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

async function finish(turn: Turn, events: readonly MoveEvent[]): Promise<void> {
  const { oldId, newId } = turn.record;
  const left = events.find(({ type }) => type === "credential.orphaned")?.fields.reason;
  const reason = left === undefined ? undefined : `${oldId} has to be deleted by a person: ${left}`;
  await turn.move({ state: "done", finishedAtMs: turn.nowMs, sealed: undefined, reason }, [
    ...events,
    { type: "credential.rotated", fields: { credentialsId: newId, oldId } },
  ]);
}
