/** The report of a rotation, for display and JSON. */
import { dayMs, isoTime } from "#core/time.ts";
import { reportOfProblem } from "#engine/problem.ts";
import type { Rotation } from "#fleet/rotation.ts";
import type { RotationReport } from "./contract.ts";
import type { Reference } from "./references.ts";
import { isRotationOver } from "./rotation-machine.ts";
import type { RotationRecord, RotationState } from "./record.ts";

/** The platform's data on a rotation's current set. */
export interface SetFacts {
  readonly credentialsId: string;
  readonly sinceMs: number | undefined;
  readonly lastUsedAtMs: number | undefined;
  /** Undefined: the deployment does not support listing references. */
  readonly references: readonly Reference[] | undefined;
}

const nextSteps: Readonly<Record<RotationState, string>> = {
  planned: "generate the new secret",
  generated: "deliver it to the sinks",
  delivered: "store it on the platform",
  created: "update the references to the old set",
  updated: "verify that the platform has it",
  switched: "delete the old set once it is unused",
  "rolling-back": "roll back the changes",
  done: "",
  failed: "",
};

/** What a report is made of: `rotation` is absent if it is no longer configured, `facts` if the platform was not queried. */
interface Parts {
  readonly rotation: Rotation | undefined;
  readonly record: RotationRecord | undefined;
  readonly facts?: SetFacts | undefined;
  readonly nowMs: number;
}

export function reportOfRotation({ name, profile }: Pick<Rotation, "name" | "profile">, parts: Parts): RotationReport {
  const { rotation, record, facts } = parts;
  return {
    name,
    profile,
    state: record?.state ?? "never",
    strategy: rotation?.strategy ?? record?.strategy ?? "",
    type: rotation?.type ?? record?.type ?? "",
    ...turnOf(record),
    lastUsedAt: isoTime(facts?.lastUsedAtMs),
    references: facts?.references ?? null,
    ...setOf(parts),
    ...courseOf(record === undefined || isRotationOver(record) ? undefined : record, rotation),
    ...(record?.problem === undefined ? {} : { problem: reportOfProblem(record.problem) }),
  };
}

function turnOf(record: RotationRecord | undefined) {
  return {
    rotationId: record?.rotationId ?? null,
    startedAt: isoTime(record?.startedAtMs),
    startedBy: record?.startedBy ?? null,
    confirmedBy: record?.confirmedBy ?? null,
    finishedAt: isoTime(record?.finishedAtMs),
    waitsFor: record?.waitsFor ?? null,
    // The texts that show it end their sentences themselves.
    reason: (record?.reason ?? record?.failure)?.replace(/\.$/, "") ?? null,
    handedTo: record?.handedToNames ?? [],
  };
}

function setOf({ rotation, record, facts, nowMs }: Parts) {
  // Before its first rotation, the set that the configuration names.
  const credentialsId = facts?.credentialsId ?? record?.currentId ?? rotation?.credentialsId ?? null;
  const rotatedAtMs = facts?.sinceMs ?? record?.rotatedAtMs;
  if (rotatedAtMs === undefined) return { credentialsId, rotatedAt: null, ageDays: null, dueAt: null };
  const ageDays = Math.max(0, Math.round(((nowMs - rotatedAtMs) / dayMs) * 10) / 10);
  const dueAt = rotation?.maxAgeMs === undefined ? null : isoTime(rotatedAtMs + rotation.maxAgeMs);
  return { credentialsId, rotatedAt: isoTime(rotatedAtMs), ageDays, dueAt };
}

/** The sets before and after a rotation in progress. */
function courseOf(record: RotationRecord | undefined, rotation: Rotation | undefined) {
  if (record === undefined) return { before: null, successor: null, nextStep: null, nextAt: null };
  return {
    before: record.oldId ?? null,
    successor: record.strategy === "successor" ? record.newId : null,
    nextStep: nextSteps[record.state],
    nextAt: isoTime(nextInstantOf(record, rotation)),
  };
}

/** The end of the grace period, not the next poll; a person has no time. */
function nextInstantOf(record: RotationRecord, rotation: Rotation | undefined): number | undefined {
  const { waitsFor, quietSinceMs, nextAtMs } = record;
  if (waitsFor === "confirmation" || waitsFor === "quarantined") return undefined;
  if (waitsFor === "grace" && quietSinceMs !== undefined && rotation !== undefined)
    return quietSinceMs + rotation.graceMs;
  return nextAtMs === 0 ? undefined : nextAtMs;
}
