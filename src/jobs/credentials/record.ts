/**
 * The stored record of a rotation: one per name, saved move by move, so an interrupted rotation can be resumed or rolled back.
 * Times are the wall clock of the process that made the move, since the waits take hours. Moves:
 *   planned -> generated            the new secret is generated and stored encrypted
 *   generated -> delivered        every sink has it; each success is saved before the next sink is called
 *   delivered -> created          successor: the new set exists on the platform
 *   created -> switched            every reference to the old set was changed to the new one, or a user confirmed it
 *   switched -> done               the old set was unused for the grace period, nothing refers to it, and it was deleted
 *   delivered -> updated -> done  in-place: the set was updated with the new secret, and the update was verified
 *   delivered -> done             in-place, without a set before: the set was created
 *   planned | generated | delivered | created -> rolling-back -> failed   it cannot continue and was rolled back
 * The encrypted secret is removed with the last move, not before.
 */
import type { MoveEvent, StoreDeps } from "#engine/move-record.ts";
import type { Problem } from "#engine/problem.ts";
import { type Change, type RecordKind, type Update, recordStore, stateStore } from "#engine/record.ts";
import type { RotationStrategy } from "#fleet/rotation.ts";

export const rotationStates = [
  "planned",
  "generated",
  "delivered",
  "created",
  "updated",
  "switched",
  "rolling-back",
  "done",
  "failed",
] as const;

export type RotationState = (typeof rotationStates)[number];

/** What a rotation in progress waits for. */
export type RotationWait =
  /** The grace period, in which the old set must be unused. */
  | "grace"
  /** A manual confirmation that nothing refers to the old set any more. */
  | "confirmation"
  /** Something still refers to the old set, and simfleet cannot change it. */
  | "reference"
  /** A failure that may be temporary. */
  | "fault"
  /** A person, because the current step killed three workers. */
  | "quarantined";

/** Properties that are fixed when a rotation begins. */
export interface RotationHead {
  readonly name: string;
  readonly profile: string;
  readonly rotationId: string;
  readonly revision?: number;
  readonly strategy: RotationStrategy;
  readonly type: string;
  /** The previous set; absent if there was none. */
  readonly oldId?: string | undefined;
  /** The set that receives the new secret; with `in-place` the same as the old one. */
  readonly newId: string;
  readonly startedAtMs: number;
  /** Who requested it: `token:ci`, `cli:anna`, `schedule:nightly`. */
  readonly startedBy?: string | undefined;
}

export interface RotationRecord extends RotationHead {
  readonly state: RotationState;
  /** When the current state was reached. */
  readonly movedAtMs: number;
  /** Time of the next poll. */
  readonly nextAtMs: number;
  readonly waitsFor?: RotationWait;
  /** What it waits for, or why it failed; for display. */
  readonly reason?: string;
  /** Failed attempts of the current step. */
  readonly tries: number;
  /** Set while it waits because of a fault. */
  readonly problem?: Problem | undefined;
  /** The new secret, encrypted with the rotation's id as purpose; kept until the rotation ends. */
  readonly sealed?: string;
  /** Keys of the sinks that have received the new secret. */
  readonly handedTo: readonly string[];
  /** Names of these sinks, for display. */
  readonly handedToNames: readonly string[];
  /** Groups that were changed, or may have been. */
  readonly groups: readonly string[];
  readonly confirmedAtMs?: number;
  readonly confirmedBy?: string;
  /** The old set must be unused since this time. */
  readonly quietSinceMs?: number;
  /** With `in-place`: the set's previous update time. */
  readonly updatedBeforeMs?: number;
  readonly finishedAtMs?: number;
  /** Kept across rotations: the active set, and since when it has its secret. */
  readonly currentId?: string;
  readonly rotatedAtMs?: number;
}

/** The last check of a secret's age; also of a rotation that never began. */
export interface AgeCheck {
  readonly profile: string;
  readonly revision?: number;
  /** When the age is checked next; absent before the first check. */
  readonly nextCheckAtMs?: number;
  /** The set that was reported, and since when it had its secret. */
  readonly reported?: string;
}

export function isRotationOver({ state }: Pick<RotationRecord, "state">): boolean {
  return state === "done" || state === "failed";
}

const kind: RecordKind<RotationRecord> = {
  subject: "rotation",
  idField: "rotationId",
  stateField: "state",
  numbers: ["tries"],
  lists: ["handedTo", "handedToNames", "groups"],
  kept: ["currentId", "rotatedAtMs"],
  defaults: (name) => ({ name, nextAtMs: 0, tries: 0, handedTo: [], handedToNames: [], groups: [] }),
  entering: { waitsFor: undefined, reason: undefined, problem: undefined, nextAtMs: 0, tries: 0 },
  isOver: isRotationOver,
};

/** Fields changed by a move; undefined removes a field. */
export type RotationChange = Change<Omit<RotationRecord, keyof RotationHead>>;

/** A rotation of the configuration. */
interface Named {
  readonly name: string;
  readonly profile: string;
}

/** The store of rotations. */
export type RotationLog = ReturnType<typeof rotationLog>;

export function rotationLog(deps: StoreDeps) {
  const { redis, keys } = deps;
  const rotationKey = (name: string): string => keys.of("rotation", name);
  /** Hash: when the age of its secret is checked next, and which secret was reported as too old. */
  const ageKey = (name: string): string => keys.of("rotation", name, "age");
  /** Set: names of all rotations that a profile ever began. */
  const namesKey = (profile: string): string => keys.of("rotations", profile);
  const store = recordStore(kind, deps, (name) => rotationKey(name));
  const ages = stateStore<AgeCheck>({ subject: "rotation" }, deps, (name) => ageKey(name));

  /** The rotation with this name that is in progress, or the last one. */
  const record = (name: string): Promise<RotationRecord | undefined> => store.get(name);

  /** Begins a rotation, or returns the one in progress. */
  const begin = async (head: RotationHead): Promise<RotationRecord> => {
    await redis.sadd(namesKey(head.profile), head.name);
    return store.begin(head.name, { ...head, state: "planned", movedAtMs: head.startedAtMs, nextAtMs: 0, tries: 0 });
  };

  /** All rotations that a profile ever began, sorted by name. */
  const records = async (profile: string): Promise<RotationRecord[]> => {
    const names = await redis.smembers(namesKey(profile));
    const found = await Promise.all(names.sort().map(record));
    // A rotation that was assigned to another profile is in both sets.
    return found.filter((one) => one !== undefined).filter((one) => one.profile === profile);
  };

  /** The rotations of a profile to be worked on: not over, and not quarantined. */
  const inProgress = async (profile: string): Promise<RotationRecord[]> =>
    (await records(profile)).filter((one) => !isRotationOver(one) && one.waitsFor !== "quarantined");

  /** Removes the record of a rotation. */
  const forget = async ({ name, profile }: Named): Promise<void> => {
    await redis.multi().unlink(rotationKey(name), ageKey(name)).srem(namesKey(profile), name).exec();
  };

  /**
   * Makes a move from the record as it was read, and emits its events in the same script.
   * @returns the new record; undefined if another process has moved the rotation on
   */
  const move = async (
    of: RotationRecord,
    change: RotationChange,
    events: readonly MoveEvent[] = [],
  ): Promise<RotationRecord | undefined> => {
    const moved = await store.move(of.name, of, change, { events });
    return typeof moved === "string" ? undefined : moved;
  };

  /** Records that a person has confirmed that nothing refers to the old set. @returns undefined if it waits for no such */
  const confirm = (
    of: Named,
    confirmed: { readonly confirmedAtMs: number; readonly confirmedBy: string },
  ): Promise<RotationRecord | undefined> =>
    store.update(of, (present) =>
      present?.waitsFor === "confirmation"
        ? { change: { ...confirmed, nextAtMs: 0, waitsFor: undefined, reason: undefined } }
        : undefined,
    );

  /** Continues a rotation that was quarantined. @returns undefined if it was not */
  const release = (of: Named): Promise<RotationRecord | undefined> =>
    store.update(of, (present) =>
      present?.waitsFor === "quarantined"
        ? { change: { nextAtMs: 0, waitsFor: undefined, reason: undefined, problem: undefined, tries: 0 } }
        : undefined,
    );

  const ageCheck = async ({ name, profile }: Named): Promise<AgeCheck> => ({ ...(await ages.get(name)), profile });

  /** Saves an age check, and emits the event if one is due. */
  const noteAge = async (name: string, of: AgeCheck, { change, events }: Update<AgeCheck>): Promise<void> => {
    await ages.move(name, of, change, { events });
  };

  return { begin, record, records, inProgress, forget, move, confirm, release, ageCheck, noteAge };
}
