/** Opens the rotation of AuthKeys: its record, queue, seal, sinks and service. */
import { type Config, requireSeal } from "#config/config.ts";
import type { Incident, Working } from "#engine/queue/job-result.ts";
import { Seal } from "#engine/seal.ts";
import { requireOperation, requireOperations } from "#fleet/required-operation.ts";
import { openSinks } from "#jobs/credentials/open.ts";
import { type Handover, type SinkDeps, handOver } from "#jobs/credentials/sinks.ts";
import { type Freezes, unlessFrozen } from "#jobs/freezes/freezes.ts";
import { believedMs } from "#engine/authkey-users.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { authKeyAccount, authKeyOperationIds, listKeys } from "./account.ts";
import { requireAuthKeyOptions } from "./config.ts";
import { authKeyRotations, isRotationOver } from "./record.ts";
import { AuthKeyService } from "./service.ts";
import type { AuthKeyDeps, HandedKey } from "./step-context.ts";
import { rotateAuthKey } from "./work.ts";
import { profileJobs } from "#engine/queue/work-queues.ts";

const feature = "Rotating AuthKeys";

export function openAuthKeys(kernel: Kernel, freezes: Freezes) {
  const { config, clock, guard, lifecycle, accounts, users, client } = kernel;
  const rotations = authKeyRotations(kernel);
  // One rotation at a time, including the grace period of the old AuthKey.
  const queues = profileJobs({ queue: "authkeys", job: "rotate-authkey", jobId: "the-authkey" }, kernel);
  lifecycle.onStop("AuthKey queues", () => queues.close());

  const service = new AuthKeyService({
    rotations,
    users,
    queues,
    list: (profile) =>
      listKeys(client(profile), requireOperation(config.deployment, "listAuthKeys", "Listing AuthKeys")),
    quietMsOf: (profile) => quietMsOf(config.authKeys[profile]?.graceMs ?? 0),
    requireRotation: (profile) => void requirementsOf(config, profile),
    inUseHere: (profile) => accounts.checkSecrets(profile),
    configuredIds: (profile) =>
      (config.profiles[profile]?.credentials ?? []).flatMap((form) => (form.kind === "auth-key" ? form.authKeyId : [])),
  });

  let sinks: SinkDeps | undefined;
  /** What the steps work with. @throws ConfigError with what is missing */
  const stepDeps = (profile: string): AuthKeyDeps => {
    const { operations, options, keys } = requirementsOf(config, profile);
    return {
      rotations,
      users,
      seal: new Seal(keys),
      sinks: options.sinks,
      clock,
      guard,
      account: authKeyAccount(client(profile), operations),
      quietMs: quietMsOf(options.graceMs),
      inUseHere: () => accounts.checkSecrets(profile),
      handOver: (sink, key, signal) =>
        handOver(sink, handoverOf(key), (sinks ??= openSinks(kernel, "webhooks of AuthKeys")), signal),
    };
  };

  /** Works on the rotations of a profile's AuthKey until stopped. @throws ConfigError with what is missing */
  const consume = async (profile: string, onIncident: (incident: Incident) => void): Promise<Working> => {
    const deps = stepDeps(profile);
    const working = await queues.consume(profile, {
      onIncident,
      status: async (name) => {
        const record = await rotations.record(name);
        const isIdle = record === undefined || isRotationOver(record) || record.quarantinedAtMs !== undefined;
        return isIdle ? "none" : "waiting";
      },
      work: async (name, stop) => {
        const result = await unlessFrozen(name, { clock, freezes, scope: "job", signal: stop }, (signal) =>
          rotateAuthKey(name, deps, signal),
        );
        if (result.kind === "postponed" && result.refusal !== undefined) {
          onIncident({ message: result.reason, refusal: result.refusal });
        }
        return result;
      },
    });
    return kernel.watchOver(`AuthKeys of ${profile}`, working);
  };

  return { service, consume };
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

function handoverOf({ profile, rotationId, startedAtMs, key: { authKeyId, authKey } }: HandedKey): Handover {
  return {
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
}

/** How long the old AuthKey has to be unused: at least as long as the last announcement of a process is trusted. */
function quietMsOf(graceMs: number): number {
  return Math.max(graceMs, believedMs);
}
