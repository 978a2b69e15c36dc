/** The part of the hall that builds what the rotation of AuthKeys needs: its record, queue, seal, sinks and desk. */
import type { Redis } from "ioredis";
import { requireAuthKeyTerms } from "#config/auth-keys.ts";
import { type Config, requireSeal } from "#config/config.ts";
import { readSecretFile } from "#config/secret-file.ts";
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { WebhookSender } from "#events/webhook.ts";
import { requireOperation, requireOperations } from "#fleet/required-operation.ts";
import { AuthKeyAccount, authKeyOperationIds, listKeys } from "#jobs/auth-keys/account.ts";
import { type FreezeHouse, unlessFrozen } from "#jobs/freeze-watch.ts";
import { rotateAuthKey } from "#jobs/auth-keys/rotate.ts";
import type { AuthKeyHouse } from "#jobs/auth-keys/turn.ts";
import { CommandRunner } from "#jobs/rotations/command.ts";
import { handOver, type SinkHouse } from "#jobs/rotations/sinks.ts";
import { authKeyQueues } from "#queue/auth-keys.ts";
import type { Trouble, Working } from "#queue/consumer.ts";
import type { ProfileJobs, ProfileJobsOptions } from "#queue/profile-jobs.ts";
import { AuthKeyDesk } from "#runs/auth-key-desk.ts";
import { AuthKeyRotations, isRotationOver } from "#store/auth-key-rotation.ts";
import { type AuthKeyUsers, believedMs } from "#store/auth-key-users.ts";
import { Seal } from "#store/seal.ts";
import type { Accounts } from "./app-accounts.ts";

const feature = "Rotating AuthKeys";

interface Hall {
  readonly config: Config;
  readonly clock: Clock;
  readonly redis: Redis;
  readonly queueHouse: ProfileJobsOptions;
  readonly lifecycle: Lifecycle;
  readonly env: NodeJS.ProcessEnv;
  readonly userAgent: string;
  readonly accounts: Accounts;
  readonly users: AuthKeyUsers;
  readonly freezeHouse: FreezeHouse;
}

export class AuthKeys {
  readonly desk: AuthKeyDesk;
  readonly #hall: Hall;
  readonly #rotations: AuthKeyRotations;
  readonly #queues: ProfileJobs;
  #sinkHouse: SinkHouse | undefined;

  constructor(hall: Hall) {
    const { config, redis, queueHouse, lifecycle, accounts, users } = hall;
    this.#hall = hall;
    this.#rotations = new AuthKeyRotations({ redis, keys: queueHouse.keys, bounds: config.events });
    this.#queues = authKeyQueues(queueHouse);
    lifecycle.onStop("AuthKey queues", () => this.#queues.close());
    this.desk = new AuthKeyDesk({
      ...{ rotations: this.#rotations, users, queues: this.#queues },
      list: (profile) => {
        const description = requireOperation(config.deployment, "listAuthKeys", "Listing AuthKeys");
        return listKeys(accounts.account(profile).client, description);
      },
      requireRotation: (profile) => void this.#requirements(profile),
      inUseHere: (profile) => accounts.lookAtSecrets(profile),
      configuredIds: (profile) =>
        (config.profiles[profile]?.credentials ?? []).flatMap((form) =>
          form.kind === "auth-key" ? form.authKeyId : [],
        ),
    });
  }

  /** Works on the rotations of a profile's AuthKey until it is stopped. @throws ConfigError with what they lack */
  consume(profile: string, onTrouble: (trouble: Trouble) => void): Promise<Working> {
    const house = this.#house(profile);
    return this.#queues.consume(profile, {
      onTrouble,
      standing: async (name) => {
        const record = await this.#rotations.record(name);
        return record === undefined || isRotationOver(record) ? "none" : "waiting";
      },
      work: async (name, stop) => {
        const frozen = { ...this.#hall.freezeHouse, scope: "job", signal: stop } as const;
        const verdict = await unlessFrozen(name, frozen, (signal) => rotateAuthKey(name, house, signal));
        if (verdict.kind === "postponed" && verdict.refusal !== undefined) {
          onTrouble({ message: verdict.reason, refusal: verdict.refusal });
        }
        return verdict;
      },
    });
  }

  #house(profile: string): AuthKeyHouse {
    const { accounts, users } = this.#hall;
    const { operations, terms, keys } = this.#requirements(profile);
    return {
      ...{ rotations: this.#rotations, users, seal: new Seal(keys), sinks: terms.sinks },
      account: new AuthKeyAccount(accounts.account(profile).client, operations),
      // A process is believed for so long after its last word.
      quietMs: Math.max(terms.graceMs, believedMs),
      inUseHere: () => accounts.lookAtSecrets(profile),
      handOver: (sink, { rotationId, startedAtMs, key }, signal) => {
        const { authKeyId, authKey } = key;
        const what = {
          ...{ rotation: `authkey-${profile}`, rotationId, profile, startedAtMs },
          ...{ credentialsId: authKeyId, type: "auth-key", secrets: { authKey }, constants: { authKeyId } },
          field: undefined,
        };
        return handOver(sink, what, this.#sinks(), signal);
      },
    };
  }

  /** All that a rotation cannot do without. @throws ConfigError */
  #requirements(profile: string) {
    const { config } = this.#hall;
    const [secretFile] = config.profiles[profile]?.secrets.files ?? [];
    return {
      operations: requireOperations(config.deployment, authKeyOperationIds, feature),
      terms: requireAuthKeyTerms(config.authKeys, profile, secretFile),
      keys: requireSeal(config, feature),
    };
  }

  #sinks(): SinkHouse {
    if (this.#sinkHouse === undefined) {
      const { clock, env, lifecycle, userAgent } = this.#hall;
      const webhooks = new WebhookSender({ clock, userAgent });
      lifecycle.onStop("webhooks of AuthKeys", () => webhooks.close());
      this.#sinkHouse = { commands: new CommandRunner({ env, clock }), readSecretFile, webhooks };
    }
    return this.#sinkHouse;
  }
}
