/** Reports on AuthKeys and their rotation, for display and JSON. They never contain a secret. */
import { isoTime } from "#core/time.ts";
import { type ProblemReport, reportOfProblem } from "#engine/problem.ts";
import type { AuthKey } from "./account.ts";
import type { AuthKeyPhase, AuthKeyRotation } from "./record.ts";
import type { AuthKeyUser } from "./users.ts";

export interface AuthKeyReport {
  readonly authKeyId: string;
  /** ISO 8601, UTC; null if the platform does not report it. */
  readonly createdAt: string | null;
  readonly ageDays: number | null;
  /** Null: never used, or not reported. */
  readonly lastUsedAt: string | null;
  /** Position in the profile's configuration: the first is preferred. */
  readonly configured: "first" | "second" | null;
  /** Live processes that use it. */
  readonly usedBy: readonly string[];
}

export interface AuthKeyRotationReport {
  readonly rotationId: string;
  readonly profile: string;
  readonly state: AuthKeyPhase;
  readonly oldAuthKeyId: string | null;
  readonly newAuthKeyId: string | null;
  /** What it is doing or waiting for, for display; null when it has ended. */
  readonly now: string | null;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** Who requested it; null if not known. */
  readonly startedBy: string | null;
  readonly finishedAt: string | null;
  /** Why it failed. */
  readonly reason: string | null;
  /** Why the current step fails, and when it is retried. */
  readonly problem?: ProblemReport;
}

const dayMs = 86_400_000;

export function reportOfKey(
  key: AuthKey,
  facts: { nowMs: number; configuredIds: readonly string[]; users: readonly AuthKeyUser[] },
): AuthKeyReport {
  const { authKeyId, createdAtMs, lastUsedAtMs } = key;
  const place = facts.configuredIds.indexOf(authKeyId);
  return {
    authKeyId,
    createdAt: isoTime(createdAtMs),
    ageDays: createdAtMs === undefined ? null : Math.max(0, Math.floor((facts.nowMs - createdAtMs) / dayMs)),
    lastUsedAt: isoTime(lastUsedAtMs),
    configured: place === 0 ? "first" : place > 0 ? "second" : null,
    usedBy: facts.users.filter((user) => user.authKeyId === authKeyId).map(({ worker }) => worker),
  };
}

export function reportOfRotation(record: AuthKeyRotation): AuthKeyRotationReport {
  const { rotationId, profile, phase, oldId, newId, startedAtMs, startedBy, finishedAtMs, reason } = record;
  const { waitsFor, problem } = record;
  return {
    ...{ rotationId, profile, state: phase },
    oldAuthKeyId: oldId ?? null,
    newAuthKeyId: newId ?? null,
    now: phase === "done" || phase === "failed" ? null : (waitsFor ?? doing[phase]),
    startedAt: new Date(startedAtMs).toISOString(),
    startedBy: startedBy ?? null,
    finishedAt: isoTime(finishedAtMs),
    reason: reason ?? null,
    ...(problem === undefined ? {} : { problem: reportOfProblem(problem) }),
  };
}

const doing: Readonly<Record<Exclude<AuthKeyPhase, "done" | "failed">, string>> = {
  begun: "looks at the AuthKeys that are there",
  "making-room": "revokes the AuthKey that makes room",
  creating: "creates a new AuthKey",
  created: "authenticates with the new AuthKey, to prove it",
  proved: "hands the new AuthKey to its sinks",
  "handed-over": "waits for simfleet to take the new AuthKey up",
  "taken-up": "waits until nobody uses the old AuthKey",
  revoking: "revokes the old AuthKey",
  revoked: "is about to end",
  "taking-back": "takes the new AuthKey back",
};
