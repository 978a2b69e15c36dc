/** The part of the hall that builds what rotations need: their log, queue, seal, sinks and desk. */
import type { Redis } from "ioredis";
import type { PlatformClient } from "#api/client.ts";
import { type Config, requireSeal } from "#config/config.ts";
import { readSecretFile } from "#config/secret-file.ts";
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { WebhookSender } from "#events/webhook.ts";
import { type FreezeHouse, unlessFrozen } from "#jobs/freeze-watch.ts";
import type { RotationAccount } from "#jobs/rotations/account-sets.ts";
import { CommandRunner } from "#jobs/rotations/command.ts";
import type { RotationContext } from "#jobs/rotations/turn.ts";
import { standingOf, workOnRotations } from "#jobs/rotations/work.ts";
import type { Trouble, Working } from "#queue/consumer.ts";
import type { ProfileJobs, ProfileJobsOptions } from "#queue/profile-jobs.ts";
import { rotationQueues } from "#queue/rotations.ts";
import { CredentialDesk } from "#runs/credential-desk.ts";
import { RotationLog } from "#store/rotation-log.ts";
import { Seal } from "#store/seal.ts";

const feature = "Rotating Credential Sets";

interface Hall {
  readonly config: Config;
  readonly clock: Clock;
  readonly redis: Redis;
  readonly queueHouse: ProfileJobsOptions;
  readonly lifecycle: Lifecycle;
  readonly env: NodeJS.ProcessEnv;
  readonly userAgent: string;
  readonly clientOf: (profile: string) => PlatformClient;
  readonly freezeHouse: FreezeHouse;
}

export class Rotations {
  readonly desk: CredentialDesk;
  readonly #hall: Hall;
  readonly #log: RotationLog;
  readonly #queues: ProfileJobs;
  #context: RotationContext | undefined;

  constructor(hall: Hall) {
    const { config, clock, redis, queueHouse, lifecycle } = hall;
    this.#hall = hall;
    this.#log = new RotationLog({ redis, keys: queueHouse.keys, bounds: config.events });
    this.#queues = rotationQueues(queueHouse);
    lifecycle.onStop("rotation queues", () => this.#queues.close());
    this.desk = new CredentialDesk({
      log: this.#log,
      queues: this.#queues,
      clock,
      rotations: config.rotations,
      accountFor: (profile) => this.#account(profile),
      requireSeal: () => requireSeal(config, feature),
    });
  }

  /** Works on a profile's rotations until it is stopped. @throws ConfigError where no key seals secrets */
  async consume(profile: string, onTrouble: (trouble: Trouble) => void): Promise<Working> {
    this.#context ??= this.#makeContext();
    const context = this.#context;
    return this.#queues.consume(profile, {
      onTrouble,
      standing: (name) => standingOf(name, context),
      work: (name, stop) =>
        unlessFrozen(name, { ...this.#hall.freezeHouse, scope: "job", signal: stop }, (signal) =>
          workOnRotations(name, context, { signal, tell: onTrouble }),
        ),
    });
  }

  #makeContext(): RotationContext {
    const { config, clock, lifecycle, env, userAgent } = this.#hall;
    const { rotations } = config;
    const seal = new Seal(requireSeal(config, feature));
    const webhooks = new WebhookSender({ clock, userAgent });
    lifecycle.onStop("webhooks", () => webhooks.close());
    return {
      log: this.#log,
      seal,
      clock,
      sinkHouse: { commands: new CommandRunner({ env, clock }), readSecretFile, webhooks },
      rotationOf: (name) => (Object.hasOwn(rotations, name) ? rotations[name] : undefined),
      rotationsOf: (profile) => Object.values(rotations).filter((rotation) => rotation.profile === profile),
      accountFor: (profile) => this.#account(profile),
    };
  }

  #account(profile: string): RotationAccount {
    const { deployment, credentialSets } = this.#hall.config;
    return { client: this.#hall.clientOf(profile), deployment, mostSets: credentialSets };
  }
}
