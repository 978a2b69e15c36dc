/** The stored record of a rotation: a flat hash, read as one value. */
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

/** What a rotation in progress waits for. */
export type RotationWait =
  /** The grace period, in which the old set must be unused. */
  | "grace"
  /** A manual confirmation that nothing refers to the old set any more. */
  | "confirmation"
  /** Something still refers to the old set, and simfleet cannot change it. */
  | "reference"
  /** A failure that may be temporary. */
  | "fault";

/** Properties that are fixed when a rotation begins. */
export interface RotationHead {
  readonly name: string;
  readonly profile: string;
  readonly rotationId: string;
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
  /** Kept across rotations: the set whose age was reported, and the time of the next check. */
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

/** Fields that are removed when the next rotation begins. */
export const fieldsOfOneTurn: readonly string[] = [
  ...["waitsFor", "reason", "sealed", "oldId", "confirmedAtMs", "quietSinceMs", "updatedBeforeMs", "finishedAtMs"],
  ...["startedBy", "confirmedBy"],
  ...lists,
  ...problemFieldNames,
];

/** Fields changed by a transition; undefined removes a field. */
export type RotationChange = {
  readonly [Field in Exclude<keyof RotationRecord, "name" | "profile" | "rotationId">]?:
    | RotationRecord[Field]
    | undefined;
};

/** Encodes a change as fields to set (field, value, …) and fields to remove. */
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

/** @returns undefined if there never was a rotation with this name */
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
