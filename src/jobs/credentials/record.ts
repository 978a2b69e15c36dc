/** A rotation as the store keeps it: written as a flat hash, read back as one value. */
import { type Problem, problemFieldNames, problemFields, problemIn } from "#engine/problem.ts";
import type { RotationStrategy } from "#fleet/rotation.ts";

export const rotationStates = [
  "planned",
  "generated",
  "handed-over",
  "created",
  "updated",
  "repointed",
  "rolling-back",
  "done",
  "failed",
] as const;

export type RotationState = (typeof rotationStates)[number];

/** What a rotation that is under way waits for, where it waits. */
export type RotationWait =
  /** The old set is to be out of use for a while. */
  | "grace"
  /** A person says that nothing names the old set any more. */
  | "confirmation"
  /** Something still names the old set, and simfleet cannot change it. */
  | "reference"
  /** Something failed that may pass. */
  | "fault";

/** What is fixed when a rotation begins. */
export interface RotationHead {
  readonly name: string;
  readonly profile: string;
  readonly rotationId: string;
  readonly strategy: RotationStrategy;
  readonly type: string;
  /** The set that held before; absent where there was none. */
  readonly oldId?: string | undefined;
  /** The set that gets the new secret; with `in-place` the old one. */
  readonly newId: string;
  readonly startedAtMs: number;
  /** Who asked for it: `token:ci`, `cli:anna`, `schedule:nightly`. */
  readonly startedBy?: string | undefined;
}

export interface RotationRecord extends RotationHead {
  readonly state: RotationState;
  /** When the state was reached. */
  readonly movedAtMs: number;
  /** Not to be looked at before. */
  readonly nextAtMs: number;
  readonly waitsFor?: RotationWait;
  /** What it waits for in words, or why it failed. */
  readonly reason?: string;
  /** Failed tries of the present step. */
  readonly tries: number;
  /** While it waits because of a fault. */
  readonly problem?: Problem | undefined;
  /** The new secret, sealed for the rotation's id, until the rotation ends. */
  readonly sealed?: string;
  /** Keys of the sinks that have the new secret. */
  readonly handedTo: readonly string[];
  /** The same for people. */
  readonly handedToNames: readonly string[];
  /** Groups that were changed, or were about to be. */
  readonly groups: readonly string[];
  readonly confirmedAtMs?: number;
  readonly confirmedBy?: string;
  /** The old set has to be out of use since then. */
  readonly quietSinceMs?: number;
  /** With `in-place`: the set's time of update before. */
  readonly updatedBeforeMs?: number;
  readonly finishedAtMs?: number;
  /** Outlive a turn: the set that holds, and since when it has its secret. */
  readonly currentId?: string;
  readonly rotatedAtMs?: number;
  /** Outlive a turn: the set whose age was told of, and when to look again. */
  readonly expiryReportedOf?: string;
  readonly expiryCheckAtMs?: number;
}

export function isRotationOver({ state }: Pick<RotationRecord, "state">): boolean {
  return state === "done" || state === "failed";
}

const texts = ["reason", "sealed", "currentId", "expiryReportedOf", "oldId", "startedBy", "confirmedBy"] as const;
const instants = [
  "confirmedAtMs",
  "quietSinceMs",
  "updatedBeforeMs",
  "finishedAtMs",
  "rotatedAtMs",
  "expiryCheckAtMs",
] as const;
const lists = ["handedTo", "handedToNames", "groups"] as const;

/** What a turn leaves behind and the next begins without. */
export const fieldsOfOneTurn: readonly string[] = [
  ...["waitsFor", "reason", "sealed", "oldId", "confirmedAtMs", "quietSinceMs", "updatedBeforeMs", "finishedAtMs"],
  ...["startedBy", "confirmedBy"],
  ...lists,
  ...problemFieldNames,
];

/** What a move changes; undefined takes a field away. */
export type RotationChange = {
  readonly [Field in Exclude<keyof RotationRecord, "name" | "profile" | "rotationId">]?:
    | RotationRecord[Field]
    | undefined;
};

/** Field and value by turns, and the fields to take away. */
export function encodeChange(change: RotationChange): { set: string[]; away: string[] } {
  const set: string[] = [];
  const away: string[] = [];
  const { problem, ...others } = change;
  const fields = "problem" in change ? { ...others, ...problemFields(problem) } : others;
  for (const [field, value] of Object.entries(fields)) {
    if (value === undefined) away.push(field);
    else set.push(field, Array.isArray(value) ? JSON.stringify(value) : String(value));
  }
  return { set, away };
}

/** @returns undefined where there never was a rotation of the name */
export function decodeRotation(name: string, hash: Readonly<Record<string, string>>): RotationRecord | undefined {
  if (hash.rotationId === undefined) return undefined;
  const number = (field: string): number => Number(hash[field] ?? 0);
  const some = <T>(fields: readonly string[], read: (text: string) => T): Record<string, T> =>
    Object.fromEntries(fields.flatMap((field) => (hash[field] === undefined ? [] : [[field, read(hash[field])]])));
  return {
    name,
    rotationId: hash.rotationId,
    profile: hash.profile ?? "",
    strategy: hash.strategy as RotationStrategy,
    type: hash.type ?? "",
    newId: hash.newId ?? "",
    startedAtMs: number("startedAtMs"),
    state: hash.state as RotationState,
    movedAtMs: number("movedAtMs"),
    nextAtMs: number("nextAtMs"),
    tries: number("tries"),
    ...(hash.waitsFor === undefined ? {} : { waitsFor: hash.waitsFor as RotationWait }),
    problem: problemIn(hash),
    ...some(texts, (text) => text),
    ...some(instants, Number),
    handedTo: [],
    handedToNames: [],
    groups: [],
    ...some(lists, (text) => JSON.parse(text) as string[]),
  };
}
