/** created -> switched: everything that refers to the old set is changed to refer to the new one, by simfleet or manually. */
import { minuteMs } from "#core/time.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import { move, wait } from "#engine/steps.ts";
import { entriesRenamed, type Reference, referencesIn } from "../references.ts";
import type { RotationResult, StepContext } from "./step-context.ts";

export const pollAgainMs = 10 * minuteMs;
const dayMs = 24 * 60 * minuteMs;
/** Limits the rounds if someone else edits groups at the same time. */
const maxRounds = 3;

export async function repoint(step: StepContext): Promise<RotationResult> {
  const { oldId, confirmedAtMs } = step.record;
  if (oldId === undefined) return switched(step, step.nowMs);
  if (!step.sets.can("listGroups")) {
    return confirmedAtMs === undefined ? askPerson(step, oldId) : switched(step, confirmedAtMs);
  }
  for (let round = 0; round < maxRounds; round += 1) {
    const left = await repointGroups(step, { from: oldId, to: step.record.newId });
    const named = left.filter(({ how }) => how === "id");
    if (named.length === 0) return switched(step, step.nowMs, left);
    if (step.sets.can("putGroupConfiguration")) continue;
    return askToRepoint(step, oldId, named);
  }
  const reason = `groups start to reference ${oldId} again while their references are updated`;
  return wait({ isProblem: true, reason, delayMs: pollAgainMs });
}

/**
 * Checks all groups once, and replaces references to one set by references to the other, if the deployment allows it.
 * @returns the references that were found to the first set
 */
export async function repointGroups(
  step: StepContext,
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
function switched(step: StepContext, quietSinceMs: number, left: readonly Reference[] = []): RotationResult {
  const { oldId, newId, groups } = step.record;
  const events: MoveEvent[] = [
    { type: "credential.repointed", fields: { oldId, credentialsId: newId, groups: groups.join(", ") } },
  ];
  if (oldId !== undefined && left.length > 0) events.push(placeholdersLeft({ oldId, newId }, left));
  const holds = { currentId: newId, rotatedAtMs: step.nowMs };
  return move({ state: "switched", quietSinceMs, ...holds }, ...events);
}

function askPerson(step: StepContext, oldId: string): RotationResult {
  const { name, newId } = step.record;
  const reason = `replace ${oldId} with ${newId} wherever it is referenced, then run: simfleet credentials confirm ${name}`;
  const events = [unconfirmed({ oldId, newId }, reason)];
  return wait({ change: { waitsFor: "confirmation" }, reason, delayMs: dayMs, events });
}

function askToRepoint(step: StepContext, oldId: string, named: readonly Reference[]): RotationResult {
  const { newId } = step.record;
  const reason = `replace ${oldId} with ${newId} in ${placesOf(named)}: the deployment does not describe putGroupConfiguration`;
  const events = [unconfirmed({ oldId, newId }, reason)];
  return wait({ change: { waitsFor: "reference" }, reason, delayMs: pollAgainMs, events });
}

/** A reference with placeholders that may match the old set prevents its deletion. */
export function placeholdersLeft(ids: { oldId: string; newId: string }, left: readonly Reference[]): MoveEvent {
  return unconfirmed(ids, reasonToKeep(ids.oldId, left));
}

export function reasonToKeep(oldId: string, left: readonly Reference[]): string {
  const named = left.some(({ how }) => how === "id");
  return `${oldId} is not deleted while ${placesOf(left)} ${named ? "names" : "may mean"} it`;
}

function unconfirmed({ oldId, newId }: { oldId: string; newId: string }, reason: string): MoveEvent {
  return { type: "credential.unconfirmed", fields: { oldId, credentialsId: newId, reason } };
}

/** `SoracomBeam of group g-1 (placeholder)`; only the first ones if there are many. */
export function placesOf(references: readonly Reference[]): string {
  const places = references.map(({ groupId, namespace, how }) => {
    return `${namespace} of group ${groupId}${how === "id" ? "" : " (by placeholder)"}`;
  });
  const more = places.length > 5 ? ` and ${places.length - 5} more` : "";
  return `${places.slice(0, 5).join(", ")}${more}`;
}
