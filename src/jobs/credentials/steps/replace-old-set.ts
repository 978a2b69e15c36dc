/**
 * The steps that replace the old set by its successor: everything that refers to it is changed to refer to the new one, by
 * simfleet or manually, and it is deleted after it was unused for the grace period. It is never deleted while anything
 * refers to it or while the new set does not exist.
 */
import { dayMs, minuteMs } from "#core/time.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import { move, wait } from "#engine/steps.ts";
import { entriesRenamed, placesOf, reasonToKeep, type Reference, referencesIn } from "../references.ts";
import type { CredentialStep, RotationResult } from "./credential-step.ts";

const pollAgainMs = 10 * minuteMs;
/** Limits the rounds if someone else edits groups at the same time. */
const maxRounds = 3;
/** How often the last use is checked during the grace period. */
const watchEveryMs = 60 * minuteMs;

/** created -> switched */
export async function repoint(step: CredentialStep): Promise<RotationResult> {
  const { name, oldId, newId, confirmedAtMs } = step.record;
  if (oldId === undefined) return switched(step, step.nowMs);
  if (!step.sets.can("listGroups")) {
    if (confirmedAtMs !== undefined) return switched(step, confirmedAtMs);
    const what = `replace ${oldId} with ${newId} wherever it is referenced`;
    return askFor(step, "confirmation", `${what}, then run: simfleet credentials confirm ${name}`);
  }
  for (let round = 0; round < maxRounds; round += 1) {
    const left = await repointGroups(step, { from: oldId, to: newId });
    const named = left.filter(({ how }) => how === "id");
    if (named.length === 0) return switched(step, step.nowMs, left);
    if (step.sets.can("putGroupConfiguration")) continue;
    const what = `replace ${oldId} with ${newId} in ${placesOf(named)}`;
    return askFor(step, "reference", `${what}: the platform definition does not describe putGroupConfiguration`);
  }
  const reason = `groups start to reference ${oldId} again while their references are updated`;
  return wait({ isProblem: true, reason, delayMs: pollAgainMs });
}

/**
 * Checks all groups once, and replaces references to one set by references to the other, if the deployment allows it.
 * @returns the references that were found to the first set
 */
export async function repointGroups(
  step: CredentialStep,
  { from, to }: { from: string; to: string },
): Promise<Reference[]> {
  const found: Reference[] = [];
  const canPut = step.sets.can("putGroupConfiguration");
  for await (const group of step.sets.groups()) {
    const references = referencesIn(group, from);
    found.push(...references);
    if (!canPut || !references.some(({ how }) => how === "id")) continue;
    // Saved first, so that the report contains every group that may have been changed.
    const { groups } = step.record;
    if (!groups.includes(group.groupId)) await step.save({ groups: [...groups, group.groupId] });
    for (const { namespace, entries } of entriesRenamed(group, from, to)) {
      await step.sets.configure(group.groupId, namespace, entries);
    }
  }
  return found;
}

/** After this move nothing is rolled back: the new set is active. */
function switched(step: CredentialStep, quietSinceMs: number, left: readonly Reference[] = []): RotationResult {
  const { oldId, newId, groups } = step.record;
  const repointed = { oldId, credentialsId: newId, groups: groups.join(", ") };
  return move(
    { state: "switched", quietSinceMs, currentId: newId, rotatedAtMs: step.nowMs },
    { type: "credential.repointed", fields: repointed },
    ...(oldId === undefined || left.length === 0 ? [] : [unconfirmed(step, reasonToKeep(oldId, left))]),
  );
}

/** Waits until a user, or another program, has replaced the references. */
function askFor(step: CredentialStep, waitsFor: "confirmation" | "reference", reason: string): RotationResult {
  const delayMs = waitsFor === "confirmation" ? dayMs : pollAgainMs;
  return wait({ change: { waitsFor }, reason, delayMs, events: [unconfirmed(step, reason)] });
}

function unconfirmed({ record: { oldId, newId } }: CredentialStep, reason: string): MoveEvent {
  return { type: "credential.unconfirmed", fields: { oldId, credentialsId: newId, reason } };
}

/** switched -> done */
export async function retire(step: CredentialStep): Promise<RotationResult> {
  const { oldId, newId } = step.record;
  if (oldId === undefined) return finish(step, []);
  const sets = await step.sets.list();
  const old = sets.find((set) => set.credentialsId === oldId);
  // Deleted by one of our calls whose response was lost, or manually.
  if (old === undefined) return finish(step, [unused(oldId)]);
  if (!sets.some((set) => set.credentialsId === newId)) {
    const reason = `the new Credential Set ${newId} is gone, so ${oldId} is kept`;
    return wait({ isProblem: true, reason, delayMs: pollAgainMs, events: [unconfirmed(step, reason)] });
  }
  const grace = await graceOf(step, oldId, old.lastUsedAtMs);
  if (grace !== undefined) return grace;
  const left = step.sets.can("listGroups") ? await step.sets.references(oldId) : [];
  if (left.length > 0) return askFor(step, "reference", reasonToKeep(oldId, left));
  const obstacle = await step.sets.remove(oldId);
  return finish(step, [unused(oldId), ...(obstacle === undefined ? [] : [leftBehind(oldId, obstacle)])]);
}

/** Waits for the end of the grace period, which each use of the old set restarts; undefined when it is over. */
async function graceOf(step: CredentialStep, oldId: string, lastUsedAtMs = 0): Promise<RotationResult | undefined> {
  const since = step.record.quietSinceMs ?? step.nowMs;
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

export function leftBehind(credentialsId: string, reason: string): MoveEvent {
  return { type: "credential.orphaned", fields: { credentialsId, reason } };
}

function unused(oldId: string): MoveEvent {
  return { type: "credential.unused", fields: { oldId } };
}

function finish(step: CredentialStep, events: readonly MoveEvent[]): RotationResult {
  const { oldId, newId } = step.record;
  const left = events.find(({ type }) => type === "credential.orphaned")?.fields.reason;
  const reason = left === undefined ? undefined : `${oldId} must be deleted manually: ${left}`;
  const rotated = { type: "credential.rotated", fields: { credentialsId: newId, oldId } } as const;
  return move({ state: "done", finishedAtMs: step.nowMs, sealed: undefined, reason }, ...events, rotated);
}
