/** created -> repointed: everything that refers to the old set is changed to refer to the new one, by simfleet or manually. */
import { minuteMs } from "#core/time.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import { entriesRenamed, type Reference, referencesIn } from "../references.ts";
import type { Turn } from "./turn.ts";

export const pollAgainMs = 10 * minuteMs;
const dayMs = 24 * 60 * minuteMs;
/** Limits the rounds if someone else edits groups at the same time. */
const mostRounds = 3;

export async function repoint(turn: Turn): Promise<void> {
  const { oldId, confirmedAtMs } = turn.record;
  if (oldId === undefined) return goOn(turn, turn.nowMs);
  if (!turn.sets.can("listGroups")) {
    return confirmedAtMs === undefined ? askPerson(turn, oldId) : goOn(turn, confirmedAtMs);
  }
  for (let round = 0; round < mostRounds; round += 1) {
    const left = await repointGroups(turn, { from: oldId, to: turn.record.newId });
    const named = left.filter(({ how }) => how === "id");
    if (named.length === 0) return goOn(turn, turn.nowMs, left);
    if (turn.sets.can("putGroupConfiguration")) continue;
    return askToRepoint(turn, oldId, named);
  }
  const reason = `groups keep being made to name ${oldId} while they are re-pointed`;
  return turn.wait({ waitsFor: "fault", reason, delayMs: pollAgainMs });
}

/**
 * Checks all groups once, and replaces references to one set by references to the other, if the deployment allows it.
 * @returns the references that were found to the first set
 */
export async function repointGroups(turn: Turn, { from, to }: { from: string; to: string }): Promise<Reference[]> {
  const found: Reference[] = [];
  const canPut = turn.sets.can("putGroupConfiguration");
  for await (const group of turn.sets.groups()) {
    const references = referencesIn(group, from);
    found.push(...references);
    if (!canPut || !references.some(({ how }) => how === "id")) continue;
    // Saved first, so that the report contains every group that may have been changed.
    const { groups } = turn.record;
    if (!groups.includes(group.groupId)) {
      const { reason } = turn.record;
      await turn.move({ groups: [...groups, group.groupId], reason });
    }
    for (const { namespace, entries } of entriesRenamed(group, from, to)) {
      await turn.sets.configure(group.groupId, namespace, entries);
    }
  }
  return found;
}

/** After this transition nothing is rolled back: the new set is active. */
async function goOn(turn: Turn, quietSinceMs: number, left: readonly Reference[] = []): Promise<void> {
  const { oldId, newId, groups } = turn.record;
  const events: MoveEvent[] = [
    { type: "credential.repointed", fields: { oldId, credentialsId: newId, groups: groups.join(", ") } },
  ];
  if (oldId !== undefined && left.length > 0) events.push(placeholdersLeft({ oldId, newId }, left));
  const holds = { currentId: newId, rotatedAtMs: turn.nowMs, expiryReportedOf: undefined, expiryCheckAtMs: undefined };
  await turn.move({ state: "repointed", quietSinceMs, ...holds }, events);
}

function askPerson(turn: Turn, oldId: string): Promise<void> {
  const { name, newId } = turn.record;
  const reason = `point everything that names ${oldId} to ${newId}, then say so: simfleet credentials confirm ${name}`;
  return turn.wait({ waitsFor: "confirmation", reason, delayMs: dayMs }, [unconfirmed({ oldId, newId }, reason)]);
}

function askToRepoint(turn: Turn, oldId: string, named: readonly Reference[]): Promise<void> {
  const { newId } = turn.record;
  const reason = `point ${placesOf(named)} from ${oldId} to ${newId}: the deployment does not describe putGroupConfiguration`;
  return turn.wait({ waitsFor: "reference", reason, delayMs: pollAgainMs }, [unconfirmed({ oldId, newId }, reason)]);
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
