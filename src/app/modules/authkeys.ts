/**
 * The part of the composition root that builds the rotation of AuthKeys: its record, queue, seal, sinks and service.
 */
import type { Redis } from "ioredis";
import { requireAuthKeyOptions } from "#jobs/authkeys/config.ts";
import { type Config, requireSeal } from "#config/config.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { WebhookSender } from "#events/webhook/webhook.ts";
import { requireOperation, requireOperations } from "#fleet/required-operation.ts";
import { AuthKeyAccount, authKeyOperationIds, listKeys } from "#jobs/authkeys/account.ts";
import { type FreezeDeps, unlessFrozen } from "#jobs/freezes/freeze-watch.ts";
import { rotateAuthKey } from "#jobs/authkeys/work.ts";
import type { AuthKeyDeps } from "#jobs/authkeys/steps/step-context.ts";
import { CommandRunner } from "#jobs/credentials/command.ts";
import { handOver, type SinkDeps } from "#jobs/credentials/sinks.ts";
import { authKeyQueues } from "#jobs/authkeys/queue.ts";
import type { PoisonGuard } from "#engine/poison-guard.ts";
import type { Incident, Working } from "#engine/queue/working.ts";
import type { ProfileJobs, ProfileJobsOptions } from "#engine/queue/profile-queue.ts";
import { AuthKeyService } from "#jobs/authkeys/service.ts";
import { type AuthKeyRotations, authKeyRotations, isRotationOver } from "#jobs/authkeys/record.ts";
import { type AuthKeyUsers, believedMs } from "#jobs/authkeys/users.ts";
import { Seal } from "#engine/seal.ts";
import type { Accounts } from "./accounts.ts";

const feature = "Rotating AuthKeys";

interface AppDeps {
  readonly config: Config;
  readonly clock: Clock;
  readonly redis: Redis;
  readonly queueDeps: ProfileJobsOptions;
  readonly lifecycle: Lifecycle;
  readonly env: NodeJS.ProcessEnv;
  readonly userAgent: string;
  readonly accounts: Accounts;
  readonly users: AuthKeyUsers;
  readonly freezeDeps: FreezeDeps;
  readonly guard: Pick<PoisonGuard, "run">;
}

export class AuthKeys {
  readonly service: AuthKeyService;
  readonly #appDeps: AppDeps;
  readonly #rotations: AuthKeyRotations;
  readonly #queues: ProfileJobs;
  #sinkDeps: SinkDeps | undefined;

  constructor(appDeps: AppDeps) {
    const { config, redis, queueDeps, lifecycle, accounts, users } = appDeps;
    this.#appDeps = appDeps;
    this.#rotations = authKeyRotations({ redis, keys: queueDeps.keys, bounds: config.events });
    this.#queues = authKeyQueues(queueDeps);
    lifecycle.onStop("AuthKey queues", () => this.#queues.close());
    this.service = new AuthKeyService({
      rotations: this.#rotations,
      users,
      queues: this.#queues,
      list: (profile) => {
        const description = requireOperation(config.deployment, "listAuthKeys", "Listing AuthKeys");
        return listKeys(accounts.account(profile).client, description);
      },
      quietMsOf: (profile) => quietMsOf(config.authKeys[profile]?.graceMs ?? 0),
      requireRotation: (profile) => void this.#requirements(profile),
      inUseHere: (profile) => accounts.checkSecrets(profile),
      configuredIds: (profile) =>
        (config.profiles[profile]?.credentials ?? []).flatMap((form) =>
          form.kind === "auth-key" ? form.authKeyId : [],
        ),
    });
  }

  /** Works on the rotations of a profile's AuthKey until stopped. @throws ConfigError with what is missing */
  consume(profile: string, onIncident: (incident: Incident) => void): Promise<Working> {
    const deps = this.#deps(profile);
    return this.#queues.consume(profile, {
      onIncident,
      status: async (name) => {
        const record = await this.#rotations.record(name);
        const isIdle = record === undefined || isRotationOver(record) || record.setAsideAtMs !== undefined;
        return isIdle ? "none" : "waiting";
      },
      work: async (name, stop) => {
        const frozen = { ...this.#appDeps.freezeDeps, scope: "job", signal: stop } as const;
        const result = await unlessFrozen(name, frozen, (signal) => rotateAuthKey(name, deps, signal));
        if (result.kind === "postponed" && result.refusal !== undefined) {
          onIncident({ message: result.reason, refusal: result.refusal });
        }
        return result;
      },
    });
  }

  #deps(profile: string): AuthKeyDeps {
    const { accounts, users, clock, guard } = this.#appDeps;
    const { operations, options, keys } = this.#requirements(profile);
    return {
      rotations: this.#rotations,
      users,
      seal: new Seal(keys),
      sinks: options.sinks,
      clock,
      guard,
      account: new AuthKeyAccount(accounts.account(profile).client, operations),
      quietMs: quietMsOf(options.graceMs),
      inUseHere: () => accounts.checkSecrets(profile),
      handOver: (sink, { rotationId, startedAtMs, key }, signal) => {
        const { authKeyId, authKey } = key;
        const handover = {
          rotation: `authkey-${profile}`,
          rotationId,
          profile,
          startedAtMs,
          credentialsId: authKeyId,
          type: "auth-key",
          secrets: { authKey },
          constants: { authKeyId },
          field: undefined,
        };
        return handOver(sink, handover, this.#sinks(), signal);
      },
    };
  }

  /** All that a rotation cannot do without. @throws ConfigError */
  #requirements(profile: string) {
    const { config } = this.#appDeps;
    const [secretFile] = config.profiles[profile]?.secrets.files ?? [];
    return {
      operations: requireOperations(config.deployment, authKeyOperationIds, feature),
      options: requireAuthKeyOptions(config.authKeys, profile, secretFile),
      keys: requireSeal(config, feature),
    };
  }

  #sinks(): SinkDeps {
    if (this.#sinkDeps === undefined) {
      const { clock, env, lifecycle, userAgent } = this.#appDeps;
      const webhooks = new WebhookSender({ clock, userAgent });
      lifecycle.onStop("webhooks of AuthKeys", () => webhooks.close());
      this.#sinkDeps = { commands: new CommandRunner({ env, clock }), readSecretFile, webhooks };
    }
    return this.#sinkDeps;
  }
}

/** How long the old AuthKey has to be unused: at least as long as the last announcement of a process is trusted. */
function quietMsOf(graceMs: number): number {
  return Math.max(graceMs, believedMs);
}
