/** AuthKeys and their rotation, for the CLI, the HTTP API and the worker. */
import { type Config, requireSeal } from "#config/config.ts";
import { type Endpoint, creating, endpoint } from "#contract/route.ts";
import { SimfleetError } from "#core/errors.ts";
import { type AuthKeyUser, believedMs } from "#engine/authkey-users.ts";
import type { Incident, WorkResult, Working } from "#engine/queue/job-result.ts";
import { type ProfileJobs, profileJobs } from "#engine/queue/work-queues.ts";
import { Seal } from "#engine/seal.ts";
import { requireOperation, requireOperations } from "#fleet/required-operation.ts";
import { isUnattended } from "#fleet/task.ts";
import { openSinks } from "#jobs/credentials/open.ts";
import { isRotationOver, newRotationId } from "#jobs/credentials/rotation-machine.ts";
import { type SinkDeps, handOver } from "#jobs/credentials/sinks.ts";
import { type Freezes, unlessFrozen } from "#jobs/freezes/freezes.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { authKeyAccount, authKeyOperationIds } from "./account.ts";
import { type KeyOwner, findOwner, requireAuthKeyOptions, requireOwner } from "./config.ts";
import * as routes from "./contract.ts";
import type { AuthKeyPlan, AuthKeyReport, AuthKeyRotationReport } from "./contract.ts";
import { obstacleOf, oldKeyOf } from "./plan.ts";
import { type AuthKeyRotations, authKeyRotations, type AuthKeyRotation, type AuthKeyState } from "./record.ts";
import { type AuthKeyDeps, rotateAuthKey } from "./work.ts";
import { dayMs, isoTime } from "#core/time.ts";
import type { AuthKey } from "#api/operations/auth-keys.ts";
import { reportOfProblem } from "#engine/problem.ts";

const feature = "Rotating AuthKeys";

export class AuthKeyService {
  readonly #kernel: Kernel;
  readonly #freezes: Freezes;
  readonly #rotations: AuthKeyRotations;
  /** One rotation at a time, including the grace period of the old AuthKey. */
  readonly #queues: ProfileJobs;
  #sinks: SinkDeps | undefined;

  constructor(kernel: Kernel, freezes: Freezes) {
    this.#kernel = kernel;
    this.#freezes = freezes;
    this.#rotations = authKeyRotations(kernel);
    this.#queues = profileJobs({ queue: "authkeys", job: "rotate-authkey", jobId: "the-authkey" }, kernel);
    kernel.lifecycle.onStop("AuthKey queues", () => this.#queues.close());
  }

  /**
   * The AuthKeys of the user that a profile authenticates as, or of a sub-user, in the platform's order (oldest first).
   * @throws ConfigError when the deployment lacks an operation; PlatformError
   */
  async list(profile: string, user?: string): Promise<AuthKeyReport[]> {
    const { config } = this.#kernel;
    // List first: this authenticates, and thereby determines which AuthKey this process uses.
    const keys = await this.#keys({ profile, user });
    const forms = Object.values(user === undefined ? { own: config.profiles[profile] } : config.profiles).flatMap(
      (one) => one?.credentials ?? [],
    );
    const facts = {
      nowMs: await this.#rotations.nowMs(),
      configuredIds: forms.flatMap((form) => (form.kind === "auth-key" ? form.authKeyId : [])),
      users: await this.#usersOf({ profile, user }),
    };
    return keys.map((key) => reportOfKey(key, facts));
  }

  /**
   * Previews a rotation; if one is in progress, `rotate` resumes it.
   * @throws ConfigError listing what is missing; SimfleetError ROTATION_STATE_CONFLICT with the obstacle; PlatformError
   */
  async plan(profile: string, replaceId: string | undefined, user?: string): Promise<AuthKeyPlan> {
    const { config, accounts } = this.#kernel;
    const owner = requireOwner(config.authKeys, profile, user);
    requirementsOf(config, owner);
    const present = await this.#rotations.record(owner.name);
    if (present !== undefined && !isRotationOver(present)) {
      if (replaceId !== undefined && replaceId !== present.replaceId) {
        throw new SimfleetError(
          "ROTATION_STATE_CONFLICT",
          `The rotation ${present.rotationId} of ${profile} is in progress and was started without replacing ${replaceId}. Wait until it ends.`,
        );
      }
      const oldAuthKeyId = present.oldId ?? accounts.checkSecrets(profile) ?? null;
      return { profile, oldAuthKeyId, isInProgress: true };
    }
    const keys = await this.#keys(owner);
    const inUseHere = user === undefined ? accounts.checkSecrets(profile) : oldKeyOf(keys, replaceId);
    const users = await this.#usersOf(owner);
    const obstacle = obstacleOf({ profile, user, keys, users, inUseHere, replaceId });
    if (obstacle !== undefined) throw new SimfleetError("ROTATION_STATE_CONFLICT", obstacle);
    return { profile, oldAuthKeyId: inUseHere ?? null, isInProgress: false };
  }

  /**
   * Starts a rotation, or resumes the one in progress, also one that was quarantined if a user asks for it. The consumer of
   * the profile's queue, usually a worker, carries it out.
   * @throws ConfigError listing what is missing
   */
  async rotate(
    profile: string,
    { by, replaceId, user }: { by: string; replaceId?: string | undefined; user?: string | undefined },
  ): Promise<AuthKeyRotationReport> {
    const owner = requireOwner(this.#kernel.config.authKeys, profile, user);
    requirementsOf(this.#kernel.config, owner);
    const rotationId = newRotationId("k", await this.#rotations.nowMs());
    if (!isUnattended(by)) await this.#rotations.release(owner);
    const record = await this.#rotations.begin(owner, { rotationId, replaceId, startedBy: by });
    await this.#queues.enqueue(owner.name, "now");
    return reportOfRotation(record, this.#quietMs(owner));
  }

  /** The rotation in progress, or the last one; undefined if there never was one. */
  async report(profile: string, user?: string): Promise<AuthKeyRotationReport | undefined> {
    const owner = findOwner(this.#kernel.config.authKeys, profile, user);
    const record = owner && (await this.#rotations.record(owner.name));
    return record && reportOfRotation(record, this.#quietMs(owner));
  }

  /** Whether a live process handles the rotations of the user's AuthKey. */
  isServed({ name }: KeyOwner): Promise<boolean> {
    return this.#queues.isServed(name);
  }

  /** Works on the rotations of a user's AuthKey until stopped. @throws ConfigError with what is missing */
  async consume(owner: KeyOwner, onIncident: (incident: Incident) => void): Promise<Working> {
    const { clock } = this.#kernel;
    const deps = this.#stepDeps(owner);
    const scope = { clock, freezes: this.#freezes, scope: "job" } as const;
    const work = async (name: string, stop: AbortSignal): Promise<WorkResult> => {
      const result = await unlessFrozen(owner.profile, { ...scope, signal: stop }, (signal) =>
        rotateAuthKey(name, deps, signal),
      );
      if (result.kind === "postponed" && result.refusal !== undefined) {
        onIncident({ message: result.reason, refusal: result.refusal });
      }
      return result;
    };
    const status = async (name: string): Promise<"none" | "waiting"> => {
      const record = await this.#rotations.record(name);
      const isIdle = record === undefined || isRotationOver(record) || record.waitsFor === "quarantined";
      return isIdle ? "none" : "waiting";
    };
    const working = await this.#queues.consume(owner.name, { onIncident, status, work });
    return this.#kernel.watchOver(`AuthKeys of ${owner.name}`, working);
  }

  /** Dependencies of the steps. @throws ConfigError that names the missing settings */
  #stepDeps(owner: KeyOwner): AuthKeyDeps {
    const { config, clock, guard, client, accounts } = this.#kernel;
    const { profile, user } = owner;
    const { operations, options, keys } = requirementsOf(config, owner);
    return {
      rotations: this.#rotations,
      users: { list: () => this.#usersOf(owner) },
      user,
      seal: new Seal(keys),
      sinks: options.sinks,
      clock,
      guard,
      account: authKeyAccount(client(profile), (id) => operations[id], user),
      quietMs: this.#quietMs(owner),
      inUseHere: () => accounts.checkSecrets(profile),
      handOver: (sink, handover, signal) => {
        this.#sinks ??= openSinks(this.#kernel, "webhooks of AuthKeys");
        return handOver(sink, handover, this.#sinks, signal);
      },
    };
  }

  #keys({ profile, user }: Omit<KeyOwner, "name">) {
    const { config, client } = this.#kernel;
    const described = (id: (typeof authKeyOperationIds)[number]) =>
      requireOperation(config.deployment, id, "Listing AuthKeys");
    return authKeyAccount(client(profile), described, user).list();
  }

  /** The processes that use an AuthKey of this owner; those of a sub-user may belong to any profile. */
  async #usersOf({ profile, user }: Omit<KeyOwner, "name">): Promise<AuthKeyUser[]> {
    const { config, users } = this.#kernel;
    const profiles = user === undefined ? [profile] : Object.keys(config.profiles);
    return (await Promise.all(profiles.map((one) => users.list(one)))).flat();
  }

  /** How long the old AuthKey has to be unused: at least as long as the last announcement of a process is trusted. */
  #quietMs({ name }: KeyOwner): number {
    return Math.max(this.#kernel.config.authKeys[name]?.graceMs ?? 0, believedMs);
  }
}

/** All that a rotation cannot do without. @throws ConfigError */
function requirementsOf(config: Config, owner: KeyOwner) {
  const [secretFile] = config.profiles[owner.profile]?.secrets.files ?? [];
  return {
    operations: requireOperations(config.deployment, authKeyOperationIds, feature),
    options: requireAuthKeyOptions(config.authKeys, owner, secretFile),
    keys: requireSeal(config, feature),
  };
}

/** The endpoints. @param profileOf throws SimfleetError NOT_FOUND */
export function authKeyEndpoints(
  service: AuthKeyService,
  profileOf: (named: string | undefined) => string,
): readonly Endpoint[] {
  return [
    endpoint(routes.listAuthKeys, async ({ query }) => {
      const profile = profileOf(query.profile);
      const { user } = query;
      const authKeys = await service.list(profile, user);
      return { authKeys, nextCursor: null, rotation: (await service.report(profile, user)) ?? null };
    }),
    endpoint(routes.showAuthKeyRotation, async ({ query }) => {
      const profile = profileOf(query.profile);
      const report = await service.report(profile, query.user);
      if (report === undefined) {
        throw new SimfleetError("NOT_FOUND", `The AuthKey of ${query.user ?? profile} has not been rotated`);
      }
      return report;
    }),
    endpoint(routes.planAuthKeyRotation, ({ query }) =>
      service.plan(profileOf(query.profile), query.replace, query.user),
    ),
    creating(routes.rotateAuthKey, ({ query, body, by }) => {
      const profile = profileOf(query.profile);
      const { user } = query;
      return {
        newId: () => profile,
        create: async () => {
          await service.plan(profile, body?.replace, user); // throws if something prevents the rotation
          return service.rotate(profile, { by, replaceId: body?.replace, user }); // one in progress continues
        },
        pathOf: () => "/authkeys",
      };
    }),
  ];
}

// The reports, for display and JSON. They never contain a secret.

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
