/**
 * The stored record of a rotation: one per name, saved move by move, so an interrupted rotation can be resumed or
 * rolled back. Times are the wall clock of the process that made the move, since the waits take hours. Moves:
 *   planned -> generated            the new secret is generated and stored encrypted
 *   generated -> delivered        every sink has it; each success is saved before the next sink is called
 *   delivered -> created          successor: the new set exists on the platform
 *   created -> switched            every reference to the old set was changed to the new one, or a user confirmed it
 *   switched -> done               the old set was unused for the grace period, nothing refers to it, and it is deleted
 *   delivered -> updated -> done  in-place: the set was updated with the new secret, and the update was verified
 *   delivered -> done             in-place, without a set before: the set was created
 *   planned | generated | delivered | created -> rolling-back -> failed   it cannot continue and was rolled back
 */
import type { StoreDeps } from "#engine/move-record.ts";
import type { Change, CommonFields } from "#engine/record.ts";
import type { Rotation } from "./config.ts";
import type { rotationStates } from "./contract.ts";
import { type RotationFields, entering, isToBeDone, rotationStore } from "./rotation-machine.ts";

export type RotationState = (typeof rotationStates)[number];

export interface RotationRecord extends RotationFields {
  readonly state: RotationState;
  readonly strategy: Rotation["strategy"];
  readonly type: string;
  /** The previous set; absent if there was none. */
  readonly oldId?: string | undefined;
  /** The set that receives the new secret; with `in-place` the same as the old one. */
  readonly newId: string;
  /** Groups that were changed, or may have been. */
  readonly groups: readonly string[];
  readonly confirmedAtMs?: number;
  readonly confirmedBy?: string;
  /** With `in-place`: the set's previous update time. */
  readonly updatedBeforeMs?: number;
  /** Kept across rotations: the active set, and since when it has its secret. */
  readonly currentId?: string;
  readonly rotatedAtMs?: number;
}

export type RotationChange = Change<RotationRecord>;

type Named = Pick<RotationRecord, "name" | "profile">;

export type RotationLog = ReturnType<typeof rotationLog>;

export function rotationLog(deps: StoreDeps) {
  const { redis, keys } = deps;
  const rotationKey = (name: string): string => keys.of("rotation", name);
  /** Text that expires: the ages of a profile's secrets were looked at. */
  const agesKey = (profile: string): string => keys.of("rotations", profile, "ages");
  /** Set: names of all rotations that a profile ever started. */
  const namesKey = (profile: string): string => keys.of("rotations", profile);
  const store = rotationStore<RotationRecord>(
    { subject: "rotation", json: ["groups"], kept: ["currentId", "rotatedAtMs"], defaults: () => ({ groups: [] }) },
    deps,
    rotationKey,
  );

  /** All rotations that a profile ever started, sorted by name. */
  const records = async (profile: string): Promise<RotationRecord[]> => {
    const names = await redis.smembers(namesKey(profile));
    const found = await Promise.all(names.sort().map(store.record));
    // A rotation that was assigned to another profile is in both sets.
    return found.filter((one) => one !== undefined).filter((one) => one.profile === profile);
  };

  return {
    ...store,
    records,

    /** The rotations of a profile to be worked on: not over, and not quarantined. */
    inProgress: async (profile: string): Promise<RotationRecord[]> => (await records(profile)).filter(isToBeDone),

    begin: async (head: RotationChange & CommonFields & Named): Promise<RotationRecord> => {
      await redis.sadd(namesKey(head.profile), head.name);
      return store.begin(head.name, { ...head, state: "planned", nextAtMs: 0, tries: 0 });
    },

    /** Records that a user confirmed that nothing refers to the old set. @returns undefined if it waits for no such */
    confirm: (of: Named, confirmed: Pick<RotationRecord, "confirmedAtMs" | "confirmedBy">) =>
      store.update(of, (present) =>
        present?.waitsFor === "confirmation" ? { change: { ...entering, ...confirmed } } : undefined,
      ),

    forget: async ({ name, profile }: Named): Promise<void> => {
      await redis.multi().unlink(rotationKey(name)).srem(namesKey(profile), name).exec();
    },

    /** Whether the ages of a profile's secrets are to be looked at: no process has done it within this time. */
    claimAges: async (profile: string, withinMs: number): Promise<boolean> =>
      (await redis.set(agesKey(profile), "looked at", "PX", withinMs, "NX")) === "OK",
  };
}
