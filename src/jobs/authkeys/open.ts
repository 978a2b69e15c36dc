/** AuthKeys and their rotation, for the CLI, the HTTP API and the worker. */
import { type Config, requireSeal } from "#config/config.ts";
import { type Endpoint, creating, endpoint } from "#contract/route.ts";
import { SimfleetError } from "#core/errors.ts";
import { believedMs } from "#engine/authkey-users.ts";
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
import { requireAuthKeyOptions } from "./config.ts";
import * as routes from "./contract.ts";
import type { AuthKeyPlan, AuthKeyReport, AuthKeyRotationReport } from "./contract.ts";
import { obstacleOf } from "./plan.ts";
import { type AuthKeyRotations, authKeyRotations } from "./record.ts";
import { reportOfKey, reportOfRotation } from "./report.ts";
import { type AuthKeyDeps, rotateAuthKey } from "./work.ts";

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
   * The AuthKeys of the user that a profile authenticates as, in the platform's order (oldest first).
   * @throws ConfigError when the deployment lacks an operation; PlatformError
   */
  async list(profile: string): Promise<AuthKeyReport[]> {
    const { config, users } = this.#kernel;
    // List first: this authenticates, and thereby determines which AuthKey this process uses.
    const keys = await this.#keys(profile);
    const forms = config.profiles[profile]?.credentials ?? [];
    const facts = {
      nowMs: await this.#rotations.nowMs(),
      configuredIds: forms.flatMap((form) => (form.kind === "auth-key" ? form.authKeyId : [])),
      users: await users.list(profile),
    };
    return keys.map((key) => reportOfKey(key, facts));
  }

  /**
   * Previews a rotation; if one is in progress, `rotate` resumes it.
   * @throws ConfigError listing what is missing; SimfleetError ROTATION_STATE_CONFLICT with the obstacle; PlatformError
   */
  async plan(profile: string, replaceId: string | undefined): Promise<AuthKeyPlan> {
    const { config, users, accounts } = this.#kernel;
    requirementsOf(config, profile);
    const present = await this.#rotations.record(profile);
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
    const keys = await this.#keys(profile);
    const inUseHere = accounts.checkSecrets(profile);
    const obstacle = obstacleOf({ profile, keys, users: await users.list(profile), inUseHere, replaceId });
    if (obstacle !== undefined) throw new SimfleetError("ROTATION_STATE_CONFLICT", obstacle);
    return { profile, oldAuthKeyId: inUseHere ?? null, isInProgress: false };
  }

  /**
   * Begins a rotation, or resumes the one in progress, also one that was quarantined if a person asks for it. The consumer of
   * the profile's queue, usually a worker, carries it out.
   * @throws ConfigError listing what is missing
   */
  async rotate(
    profile: string,
    { by, replaceId }: { by: string; replaceId?: string | undefined },
  ): Promise<AuthKeyRotationReport> {
    requirementsOf(this.#kernel.config, profile);
    const rotationId = newRotationId("k", await this.#rotations.nowMs());
    if (!isUnattended(by)) await this.#rotations.release(profile);
    const record = await this.#rotations.begin(profile, { rotationId, replaceId, startedBy: by });
    await this.#queues.enqueue(profile, "now");
    return reportOfRotation(record, this.#quietMs(profile));
  }

  /** The rotation in progress, or the last one; undefined if there never was one. */
  async report(profile: string): Promise<AuthKeyRotationReport | undefined> {
    const record = await this.#rotations.record(profile);
    return record === undefined ? undefined : reportOfRotation(record, this.#quietMs(profile));
  }

  /** Whether a live process handles the rotations of the profile's AuthKey. */
  isServed(profile: string): Promise<boolean> {
    return this.#queues.isServed(profile);
  }

  /** Works on the rotations of a profile's AuthKey until stopped. @throws ConfigError with what is missing */
  async consume(profile: string, onIncident: (incident: Incident) => void): Promise<Working> {
    const { clock } = this.#kernel;
    const deps = this.#stepDeps(profile);
    const scope = { clock, freezes: this.#freezes, scope: "job" } as const;
    const work = async (name: string, stop: AbortSignal): Promise<WorkResult> => {
      const result = await unlessFrozen(name, { ...scope, signal: stop }, (signal) =>
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
    const working = await this.#queues.consume(profile, { onIncident, status, work });
    return this.#kernel.watchOver(`AuthKeys of ${profile}`, working);
  }

  /** What the steps work with. @throws ConfigError with what is missing */
  #stepDeps(profile: string): AuthKeyDeps {
    const { config, users, clock, guard, client, accounts } = this.#kernel;
    const { operations, options, keys } = requirementsOf(config, profile);
    return {
      rotations: this.#rotations,
      users,
      seal: new Seal(keys),
      sinks: options.sinks,
      clock,
      guard,
      account: authKeyAccount(client(profile), (id) => operations[id]),
      quietMs: this.#quietMs(profile),
      inUseHere: () => accounts.checkSecrets(profile),
      handOver: (sink, handover, signal) => {
        this.#sinks ??= openSinks(this.#kernel, "webhooks of AuthKeys");
        return handOver(sink, handover, this.#sinks, signal);
      },
    };
  }

  #keys(profile: string) {
    const { config, client } = this.#kernel;
    return authKeyAccount(client(profile), (id) => requireOperation(config.deployment, id, "Listing AuthKeys")).list();
  }

  /** How long the old AuthKey has to be unused: at least as long as the last announcement of a process is trusted. */
  #quietMs(profile: string): number {
    return Math.max(this.#kernel.config.authKeys[profile]?.graceMs ?? 0, believedMs);
  }
}

/** All that a rotation cannot do without. @throws ConfigError */
function requirementsOf(config: Config, profile: string) {
  const [secretFile] = config.profiles[profile]?.secrets.files ?? [];
  return {
    operations: requireOperations(config.deployment, authKeyOperationIds, feature),
    options: requireAuthKeyOptions(config.authKeys, profile, secretFile),
    keys: requireSeal(config, feature),
  };
}

/** What answers the routes. @param profileOf throws SimfleetError NOT_FOUND */
export function authKeyEndpoints(
  service: AuthKeyService,
  profileOf: (named: string | undefined) => string,
): readonly Endpoint[] {
  return [
    endpoint(routes.listAuthKeys, async ({ query }) => {
      const profile = profileOf(query.profile);
      const authKeys = await service.list(profile);
      return { authKeys, nextCursor: null, rotation: (await service.report(profile)) ?? null };
    }),
    endpoint(routes.showAuthKeyRotation, async ({ query }) => {
      const profile = profileOf(query.profile);
      const report = await service.report(profile);
      if (report === undefined) throw new SimfleetError("NOT_FOUND", `The AuthKey of ${profile} has not been rotated`);
      return report;
    }),
    endpoint(routes.planAuthKeyRotation, ({ query }) => service.plan(profileOf(query.profile), query.replace)),
    creating(routes.rotateAuthKey, ({ query, body, by }) => {
      const profile = profileOf(query.profile);
      return {
        newId: () => profile,
        create: async () => {
          await service.plan(profile, body?.replace); // throws if something prevents the rotation
          return service.rotate(profile, { by, replaceId: body?.replace }); // one in progress continues
        },
        pathOf: () => "/authkeys",
      };
    }),
  ];
}
