/** The part of the composition root that builds the service of runs. */
import type { Redis } from "ioredis";
import type { Config } from "#config/config.ts";
import type { Clock } from "#core/time.ts";
import type { Wording } from "#fleet/sim/sim.ts";
import type { SealInputs } from "#jobs/runs/sealed-inputs.ts";
import { RunService } from "#jobs/runs/service.ts";
import type { Queues } from "#jobs/runs/work/queues.ts";
import { redisMemory } from "#redis/memory.ts";
import type { Stores } from "../stores.ts";

export function openRuns(deps: {
  readonly config: Config;
  readonly clock: Clock;
  readonly redis: Redis;
  readonly stores: Stores;
  readonly queues: Queues;
  readonly sealInputs: SealInputs;
  readonly wordingOf: (profile: string) => Wording;
}): RunService {
  const { config, redis, stores } = deps;
  return new RunService({
    ...deps,
    ledger: stores.ledger,
    runRemoval: stores.runRemoval,
    inventory: stores.inventory,
    limiter: stores.limiter,
    workerRegistry: stores.workerRegistry,
    periodMs: config.limits.periodMs,
    policy: config.changes,
    speedClasses: config.deployment.speedClasses,
    operations: config.deployment.simOperations,
    memory: () => redisMemory(redis, stores.keys),
  });
}
