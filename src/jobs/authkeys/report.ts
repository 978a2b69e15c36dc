/** Reports on AuthKeys and their rotation, for display and JSON. They never contain a secret. */
import { isoTime } from "#core/time.ts";
import { reportOfProblem } from "#engine/problem.ts";
import type { AuthKey } from "./account.ts";
import type { AuthKeyReport, AuthKeyRotationReport } from "./contract.ts";
import type { AuthKeyPhase, AuthKeyRotation } from "./record.ts";
import type { AuthKeyUser } from "./users.ts";

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

export function reportOfRotation(record: AuthKeyRotation, quietMs: number): AuthKeyRotationReport {
  const { rotationId, profile, phase, oldId, newId, startedAtMs, startedBy, finishedAtMs, reason } = record;
  const { waitsFor, problem, quietSinceMs } = record;
  return {
    rotationId,
    profile,
    state: phase,
    oldAuthKeyId: oldId ?? null,
    newAuthKeyId: newId ?? null,
    now: phase === "done" || phase === "failed" ? null : (waitsFor ?? doing[phase]),
    revokesAt: phase === "taken-up" && quietSinceMs !== undefined ? isoTime(quietSinceMs + quietMs) : null,
    startedAt: new Date(startedAtMs).toISOString(),
    startedBy: startedBy ?? null,
    finishedAt: isoTime(finishedAtMs),
    reason: reason ?? null,
    ...(problem === undefined ? {} : { problem: reportOfProblem(problem) }),
  };
}

const doing: Readonly<Record<Exclude<AuthKeyPhase, "done" | "failed">, string>> = {
  begun: "reading the AuthKeys of the user",
  "making-room": "revoking an AuthKey to make room",
  creating: "creating a new AuthKey",
  created: "verifying the new AuthKey by authenticating with it",
  proved: "delivering the new AuthKey to its sinks",
  "handed-over": "waiting for simfleet to load the new AuthKey",
  "taken-up": "waiting until the old AuthKey is unused",
  revoking: "revoking the old AuthKey",
  revoked: "finishing the rotation",
  "taking-back": "revoking the new AuthKey",
};
