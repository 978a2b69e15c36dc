/** Reads of one SIM from the platform, where the deployment describes how. */
import type { Account } from "#api/account.ts";
import { ConfigError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { DeploymentOperationId } from "#fleet/deployment-operation.ts";
import { jsonWithoutSecrets } from "#fleet/sim/sim-fields.ts";

/**
 * The record of a SIM as the platform has it now, without secrets.
 * @throws PlatformError; ConfigError if the deployment does not describe the read
 */
export async function readNow(
  key: string,
  { account, clock, signal }: { account: Account; clock: Clock; signal: AbortSignal },
) {
  const { client, readSim, selection } = account;
  if (readSim === undefined) throw missing("getSim");
  const record = await client.call(readSim, { key }, { signal });
  const clean = JSON.parse(jsonWithoutSecrets(record, selection.secrets)) as Record<string, unknown>;
  return { ...clean, seenAt: new Date(clock.wallMs()).toISOString() };
}

/** @throws as `readNow` */
export async function statusesNow(key: string, account: Account, signal: AbortSignal) {
  const { client, readStatusHistory, selection } = account;
  if (readStatusHistory === undefined) throw missing("getSimStatusHistory");
  const entries = await client.call(readStatusHistory, { key }, { signal });
  return JSON.parse(jsonWithoutSecrets(entries, selection.secrets)) as Record<string, unknown>[];
}

function missing(id: DeploymentOperationId): ConfigError {
  const message = "is not in the deployment, so one SIM cannot be read (docs/deployments.md).";
  return new ConfigError([{ where: `operations.${id}`, message }]);
}
