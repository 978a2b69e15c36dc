/** Opens rotations: their log, queue, seal, sinks and service. */
import { requireSeal } from "#config/config.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import type { Incident, Working } from "#engine/queue/job-result.ts";
import { type QueueDeps, profileJobs } from "#engine/queue/work-queues.ts";
import { Seal } from "#engine/seal.ts";
import { webhookSender } from "#events/webhook/webhook.ts";
import { type Freezes, unlessFrozen } from "#jobs/freezes/freezes.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { type RotationAccount, feature } from "./account-sets.ts";
import { CommandRunner } from "./command.ts";
import { rotationLog } from "./record.ts";
import { CredentialService } from "./service.ts";
import type { SinkDeps } from "./sinks.ts";
import type { RotationContext } from "./steps/credential-step.ts";
import { statusOf, workOnRotations } from "./work.ts";

export function openRotations(kernel: Kernel, freezes: Freezes) {
  const { config, clock, guard, lifecycle, client } = kernel;
  const { rotations, deployment } = config;
  const log = rotationLog(kernel);
  const queues = rotationQueues(kernel);
  lifecycle.onStop("rotation queues", () => queues.close());
  const accountFor = (profile: string): RotationAccount => ({
    client: client(profile),
    deployment,
    maxSets: config.limits.credentialSets,
  });
  const seal = () => requireSeal(config, feature);
  const freezeOf = (profile: string) => freezes.of(profile);
  const service = new CredentialService({ log, queues, clock, rotations, accountFor, requireSeal: seal, freezeOf });

  let context: RotationContext | undefined;
  const makeContext = (): RotationContext => ({
    log,
    seal: new Seal(seal()),
    clock,
    guard,
    sinkDeps: openSinks(kernel, "webhooks"),
    rotations,
    accountFor,
  });

  /** Works on a profile's rotations until stopped. @throws ConfigError if no key to seal secrets is configured */
  const consume = async (profile: string, onIncident: (incident: Incident) => void): Promise<Working> => {
    const made = (context ??= makeContext());
    const working = await queues.consume(profile, {
      onIncident,
      status: (name) => statusOf(name, made),
      work: (name, stop) =>
        unlessFrozen(name, { clock, freezes, scope: "job", signal: stop }, (signal) =>
          workOnRotations(name, made, { signal, emit: onIncident }),
        ),
    });
    return kernel.watchOver(`rotations of ${profile}`, working);
  };

  return { service, log, consume };
}

/** Dependencies of deliveries to sinks. @param name names the sender of webhooks when the app closes */
export function openSinks({ clock, config, env, lifecycle, userAgent }: Kernel, name: string): SinkDeps {
  const webhooks = webhookSender({ clock, userAgent, config });
  lifecycle.onStop(name, () => webhooks.close());
  return { commands: new CommandRunner({ env, clock }), readSecretFile, webhooks, pod: { env } };
}

/**
 * The queue of a profile's rotations: one job handles all of them. It may be delayed for hours between two polls, and runs
 * at once if a rotation is due, so that a new rotation does not wait for the grace period of another.
 */
export function rotationQueues(deps: QueueDeps) {
  return profileJobs({ queue: "rotations", job: "rotate-credentials", jobId: "the-rotations" }, deps);
}
