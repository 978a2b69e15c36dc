/** The service of runs on a real Redis, without workers: no job is enqueued, and the quota is unknown. */
import type { Redis } from "ioredis";
import { type Clock, systemClock } from "#core/time.ts";
import type { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import type { RunPolicy } from "#jobs/runs/submit.ts";
import type { RunRemoval } from "#jobs/runs/removal/removal.ts";
import { RunService } from "#jobs/runs/service.ts";
import type { RunQueues } from "#jobs/runs/work/queue.ts";
import type { Limiter } from "#limiter/limiter.ts";
import type { Keys } from "#redis/keys.ts";
import { keptBounds, memory as unlimited, noPolicy, operations, sealInputs } from "./run-of.ts";

export function runServiceOn(
  store: { redis: Redis; keys: Keys },
  {
    policy = {},
    clock = systemClock,
    memory = unlimited,
  }: { policy?: Partial<RunPolicy>; clock?: Clock; memory?: typeof unlimited } = {},
): { runs: RunService; ledger: Ledger } {
  const storeDeps = { ...store, bounds: keptBounds };
  const ledger = new Ledger({ ...storeDeps, clock });
  const runs = new RunService({
    ledger,
    clock,
    runRemoval: {} as RunRemoval,
    inventory: new Inventory(storeDeps),
    queues: { enqueue: () => Promise.resolve() } as unknown as RunQueues,
    limiter: { state: () => Promise.resolve({ nowMs: 0 }) } as unknown as Limiter,
    workerRegistry: {} as WorkerRegistry,
    periodMs: 60_000,
    wordingOf: () => "sims",
    speedClasses: [],
    policy: { ...noPolicy, ...policy },
    operations,
    sealInputs,
    memory,
  });
  return { runs, ledger };
}
