/** Reports on AuthKeys and their rotation, for display and JSON. They never contain a secret. */
import { dayMs, isoTime } from "#core/time.ts";
import type { AuthKey } from "#api/operations/auth-keys.ts";
import type { AuthKeyUser } from "#engine/authkey-users.ts";
import { reportOfProblem } from "#engine/problem.ts";
import type { AuthKeyReport, AuthKeyRotationReport } from "./contract.ts";
import type { AuthKeyRotation, AuthKeyState } from "./record.ts";

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
  const { rotationId, profile, user = null, state, quietSinceMs, problem } = record;
  return {
    rotationId,
    profile,
    user,
    state,
    oldAuthKeyId: record.oldId ?? null,
    newAuthKeyId: record.newId ?? null,
    now: state === "done" || state === "failed" ? null : (record.reason ?? doing[state]),
    revokesAt: state === "active" && quietSinceMs !== undefined ? isoTime(quietSinceMs + quietMs) : null,
    startedAt: new Date(record.startedAtMs).toISOString(),
    startedBy: record.startedBy ?? null,
    finishedAt: isoTime(record.finishedAtMs),
    reason: record.failure ?? null,
    ...(problem === undefined ? {} : { problem: reportOfProblem(problem) }),
  };
}

const doing: Readonly<Record<Exclude<AuthKeyState, "done" | "failed">, string>> = {
  begun: "reading the AuthKeys of the user",
  "making-room": "revoking an AuthKey to make room",
  creating: "creating a new AuthKey",
  created: "verifying the new AuthKey by authenticating with it",
  verified: "delivering the new AuthKey to its sinks",
  delivered: "waiting for simfleet to load the new AuthKey",
  active: "waiting until the old AuthKey is unused",
  revoking: "revoking the old AuthKey",
  revoked: "finishing the rotation",
  "taking-back": "revoking the new AuthKey",
};
