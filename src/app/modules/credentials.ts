/** The part of the composition root that builds rotations: their log, queue, seal, sinks and service. */
import type { Redis } from "ioredis";
import type { PlatformClient } from "#api/client.ts";
import { type Config, requireSeal } from "#config/config.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { WebhookSender } from "#events/webhook/webhook.ts";
import { type FreezeDeps, unlessFrozen } from "#jobs/freezes/freeze-watch.ts";
import type { RotationAccount } from "#jobs/credentials/account-sets.ts";
import { CommandRunner } from "#jobs/credentials/command.ts";
import type { RotationContext } from "#jobs/credentials/steps/step-context.ts";
import { statusOf, workOnRotations } from "#jobs/credentials/work.ts";
import type { PoisonGuard } from "#engine/poison-guard.ts";
import type { Incident, Working } from "#engine/queue/working.ts";
import type { ProfileJobs, ProfileJobsOptions } from "#engine/queue/profile-queue.ts";
import { rotationQueues } from "#jobs/credentials/queue.ts";
import { CredentialService } from "#jobs/credentials/service.ts";
import { type RotationLog, rotationLog } from "#jobs/credentials/record.ts";
import { Seal } from "#engine/seal.ts";

const feature = "Rotating Credential Sets";

interface AppDeps {
  readonly config: Config;
  readonly clock: Clock;
  readonly redis: Redis;
  readonly queueDeps: ProfileJobsOptions;
  readonly lifecycle: Lifecycle;
  readonly env: NodeJS.ProcessEnv;
  readonly userAgent: string;
  readonly clientOf: (profile: string) => PlatformClient;
  readonly freezeDeps: FreezeDeps;
  readonly guard: Pick<PoisonGuard, "run">;
}

export class Rotations {
  readonly service: CredentialService;
  readonly #appDeps: AppDeps;
  readonly log: RotationLog;
  readonly #queues: ProfileJobs;
  #context: RotationContext | undefined;

  constructor(appDeps: AppDeps) {
    const { config, clock, redis, queueDeps, lifecycle } = appDeps;
    this.#appDeps = appDeps;
    this.log = rotationLog({ redis, keys: queueDeps.keys, bounds: config.events });
    this.#queues = rotationQueues(queueDeps);
    lifecycle.onStop("rotation queues", () => this.#queues.close());
    this.service = new CredentialService({
      log: this.log,
      queues: this.#queues,
      clock,
      rotations: config.rotations,
      accountFor: (profile) => this.#account(profile),
      requireSeal: () => requireSeal(config, feature),
    });
  }

  /** Works on a profile's rotations until stopped. @throws ConfigError if no key to seal secrets is configured */
  async consume(profile: string, onIncident: (incident: Incident) => void): Promise<Working> {
    this.#context ??= this.#makeContext();
    const context = this.#context;
    return this.#queues.consume(profile, {
      onIncident,
      status: (name) => statusOf(name, context),
      work: (name, stop) =>
        unlessFrozen(name, { ...this.#appDeps.freezeDeps, scope: "job", signal: stop }, (signal) =>
          workOnRotations(name, context, { signal, emit: onIncident }),
        ),
    });
  }

  #makeContext(): RotationContext {
    const { config, clock, lifecycle, env, userAgent, guard } = this.#appDeps;
    const { rotations } = config;
    const seal = new Seal(requireSeal(config, feature));
    const webhooks = new WebhookSender({ clock, userAgent });
    lifecycle.onStop("webhooks", () => webhooks.close());
    return {
      log: this.log,
      seal,
      clock,
      guard,
      sinkDeps: { commands: new CommandRunner({ env, clock }), readSecretFile, webhooks },
      rotationOf: (name) => (Object.hasOwn(rotations, name) ? rotations[name] : undefined),
      rotationsOf: (profile) => Object.values(rotations).filter((rotation) => rotation.profile === profile),
      accountFor: (profile) => this.#account(profile),
    };
  }

  #account(profile: string): RotationAccount {
    const { deployment, credentialSets } = this.#appDeps.config;
    return { client: this.#appDeps.clientOf(profile), deployment, maxSets: credentialSets };
  }
}
