/** The service of runs on a real Redis, without workers: no job is enqueued, and the quota is unknown. */
import type { Redis } from "ioredis";
import type { Config } from "#config/config.ts";
import { systemClock } from "#core/time.ts";
import type { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import type { RunPolicy } from "#jobs/runs/submit.ts";
import { RunService } from "#jobs/runs/service.ts";
import type { RunQueues } from "#jobs/runs/work/queue.ts";
import type { Limiter } from "#limiter/limiter.ts";
import type { Keys } from "#redis/keys.ts";
import { keptBounds, memory, noPolicy, operations, sealInputs } from "./run-of.ts";

type RunDeps = ConstructorParameters<typeof RunService>[0];

export function runServiceOn(
  store: { redis: Redis; keys: Keys },
  { policy = {}, clock = systemClock, ...own }: Partial<RunDeps> & { policy?: Partial<RunPolicy> } = {},
): { runs: RunService; ledger: Ledger } {
  const collaborators = { ...store, bounds: keptBounds, clock };
  const ledger = new Ledger(collaborators);
  const runs = new RunService({
    ledger,
    ...collaborators,
    freezes: { of: () => Promise.resolve(undefined) },
    inventory: new Inventory(collaborators),
    queues: { enqueue: () => Promise.resolve() } as unknown as RunQueues,
    limiter: { state: () => Promise.resolve({ nowMs: 0 }) } as unknown as Limiter,
    workerRegistry: { workers: () => Promise.resolve([]) } as unknown as WorkerRegistry,
    config: {
      limits: { periodMs: 60_000, connections: 64 },
      changes: { ...noPolicy, ...policy },
      deployment: { speedClasses: [], simOperations: operations },
    } as unknown as Config,
    client: () => undefined as never,
    wordingOf: () => "sims",
    sealInputs,
    memory,
    ...own,
  });
  return { runs, ledger };
}
