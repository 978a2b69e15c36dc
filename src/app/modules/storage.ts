/** The part of the composition root that builds the retention of data and the report on Redis's memory. */
import type { Config } from "#config/config.ts";
import type { Clock } from "#core/time.ts";
import { type Wording, keyColumnOf } from "#fleet/sim/sim.ts";
import type { RotationLog } from "#jobs/credentials/record.ts";
import type { RunService } from "#jobs/runs/service.ts";
import { type StorageService, storageService } from "#jobs/storage/service.ts";
import type { Stores } from "../stores.ts";

interface AppDeps extends Pick<Stores, "storeDeps" | "ledger" | "runRemoval" | "inventory" | "syncs" | "feed"> {
  readonly config: Config;
  readonly clock: Clock;
  readonly runs: RunService;
  readonly rotationLog: RotationLog;
  readonly wordingOf: (profile: string) => Wording;
}

export function openStorage(appDeps: AppDeps): StorageService {
  const { config, storeDeps, ledger, runRemoval, inventory, syncs, feed, clock, runs, rotationLog, wordingOf } =
    appDeps;
  return storageService({
    ...storeDeps,
    ledger,
    runRemoval,
    inventory,
    syncs,
    feed,
    clock,
    retention: config.retention,
    auditKeepMs: config.audit.keepMs,
    profiles: Object.keys(config.profiles),
    rotations: rotationLog,
    configuredRotations: Object.keys(config.rotations),
    keyColumnOf: (profile) => keyColumnOf(wordingOf(profile)),
    archiveOf: (run) => runs.archiveOf(run),
  });
}
