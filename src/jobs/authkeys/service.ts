/** Operations on AuthKeys, shared by the CLI and the HTTP API. */
import * as routes from "./contract.ts";
import { randomInt } from "node:crypto";
import { SimfleetError } from "#core/errors.ts";
import type { AuthKeyPlan, AuthKeyReport, AuthKeyRotationReport } from "./contract.ts";
import { obstacleOf } from "./plan.ts";
import type { ProfileJobs } from "#engine/queue/work-queues.ts";
import { isUnattended } from "#fleet/task.ts";
import { type AuthKeyRotations, type AuthKeyPhase, type AuthKeyRotation, isRotationOver } from "./record.ts";
import type { AuthKeyUsers, AuthKeyUser } from "#engine/authkey-users.ts";
import { isoTime } from "#core/time.ts";
import { reportOfProblem } from "#engine/problem.ts";
import type { AuthKey } from "./account.ts";
import { type Endpoint, creating, endpoint } from "#contract/route.ts";

interface Deps {
  readonly rotations: AuthKeyRotations;
  readonly users: AuthKeyUsers;
  readonly queues: ProfileJobs;
  /** @throws ConfigError when the deployment lacks an operation; PlatformError */
  readonly list: (profile: string) => Promise<AuthKey[]>;
  /** @throws ConfigError listing everything that is missing for a rotation */
  readonly requireRotation: (profile: string) => void;
  readonly inUseHere: (profile: string) => string | undefined;
  /** How long an AuthKey has to be unused before it is revoked. */
  readonly quietMsOf: (profile: string) => number;
  /** AuthKeys in the configuration, the preferred one first. */
  readonly configuredIds: (profile: string) => readonly string[];
}

export class AuthKeyService {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** The AuthKeys of the user that a profile authenticates as, in the platform's order (oldest first). */
  async list(profile: string): Promise<AuthKeyReport[]> {
    const { users, rotations, configuredIds } = this.#deps;
    // List first: this authenticates, and thereby determines which AuthKey this process uses.
    const keys = await this.#deps.list(profile);
    const facts = {
      nowMs: await rotations.nowMs(),
      configuredIds: configuredIds(profile),
      users: await users.list(profile),
    };
    return keys.map((key) => reportOfKey(key, facts));
  }

  /**
   * Previews a rotation; if one is in progress, `rotate` resumes it.
   * @throws ConfigError listing what is missing; SimfleetError ROTATION_STATE_CONFLICT with the obstacle; PlatformError
   */
  async plan(profile: string, replaceId: string | undefined): Promise<AuthKeyPlan> {
    const { requireRotation, rotations, users, inUseHere } = this.#deps;
    requireRotation(profile);
    const present = await rotations.record(profile);
    if (present !== undefined && !isRotationOver(present)) {
      if (replaceId !== undefined && replaceId !== present.replaceId) {
        throw new SimfleetError(
          "ROTATION_STATE_CONFLICT",
          `The rotation ${present.rotationId} of ${profile} is in progress and was started without replacing ${replaceId}. Wait until it ends.`,
        );
      }
      return { profile, oldAuthKeyId: present.oldId ?? inUseHere(profile) ?? null, isInProgress: true };
    }
    const keys = await this.#deps.list(profile);
    const oldId = inUseHere(profile);
    const status = { profile, keys, users: await users.list(profile), inUseHere: oldId, replaceId };
    const obstacle = obstacleOf(status);
    if (obstacle !== undefined) throw new SimfleetError("ROTATION_STATE_CONFLICT", obstacle);
    return { profile, oldAuthKeyId: oldId ?? null, isInProgress: false };
  }

  /**
   * Begins a rotation, or resumes the one in progress, also one that was quarantined if a person asks for it. The consumer of the profile's queue, usually a worker, carries it out. */
  async rotate(
    profile: string,
    { by, replaceId }: { by: string; replaceId?: string | undefined },
  ): Promise<AuthKeyRotationReport> {
    const { rotations, queues, requireRotation, quietMsOf } = this.#deps;
    requireRotation(profile);
    const rotationId = newRotationId(await rotations.nowMs());
    if (!isUnattended(by)) await rotations.release(profile);
    const record = await rotations.begin(profile, { rotationId, replaceId, by });
    await queues.enqueue(profile, "now");
    return reportOfRotation(record, quietMsOf(profile));
  }

  /** The rotation in progress, or the last one; undefined if there never was one. */
  async report(profile: string): Promise<AuthKeyRotationReport | undefined> {
    const record = await this.#deps.rotations.record(profile);
    return record === undefined ? undefined : reportOfRotation(record, this.#deps.quietMsOf(profile));
  }

  /** Whether a live process handles the rotations of the profile's AuthKey. */
  isServed(profile: string): Promise<boolean> {
    return this.#deps.queues.isServed(profile);
  }
}

/** `k-20261120-103045-482`: sorts by time. */
function newRotationId(nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `k-${stamp}-${String(randomInt(1_000)).padStart(3, "0")}`;
}

// Reports on AuthKeys and their rotation, for display and JSON. They never contain a secret.

const dayMs = 86_400_000;

function reportOfKey(
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
    revokesAt: phase === "active" && quietSinceMs !== undefined ? isoTime(quietSinceMs + quietMs) : null,
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
  verified: "delivering the new AuthKey to its sinks",
  delivered: "waiting for simfleet to load the new AuthKey",
  active: "waiting until the old AuthKey is unused",
  revoking: "revoking the old AuthKey",
  revoked: "finishing the rotation",
  "taking-back": "revoking the new AuthKey",
};

// What answers the routes of AuthKeys.

export function authKeyEndpoints({
  authKeys,
  profileOf,
}: {
  readonly authKeys: AuthKeyService;
  /** @throws SimfleetError NOT_FOUND */
  readonly profileOf: (named: string | undefined) => string;
}): readonly Endpoint[] {
  return [
    endpoint(routes.listAuthKeys, async ({ query }) => {
      const profile = profileOf(query.profile);
      const keys = await authKeys.list(profile);
      return { authKeys: keys, nextCursor: null, rotation: (await authKeys.report(profile)) ?? null };
    }),
    endpoint(routes.showAuthKeyRotation, async ({ query }) => {
      const profile = profileOf(query.profile);
      const report = await authKeys.report(profile);
      if (report === undefined) throw new SimfleetError("NOT_FOUND", `The AuthKey of ${profile} has not been rotated`);
      return report;
    }),
    endpoint(routes.planAuthKeyRotation, ({ query }) => authKeys.plan(profileOf(query.profile), query.replace)),
    creating(routes.rotateAuthKey, ({ query, body, by }) => {
      const profile = profileOf(query.profile);
      return {
        newId: () => profile,
        create: async () => {
          await authKeys.plan(profile, body?.replace); // throws if something prevents the rotation
          return authKeys.rotate(profile, { by, replaceId: body?.replace }); // one in progress continues
        },
        pathOf: () => "/authkeys",
      };
    }),
  ];
}
