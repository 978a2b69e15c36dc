/** The parts that turn files into runs, for the tests' own process and for those that they kill. */
import type { Redis } from "ioredis";
import { runRemoval } from "#jobs/runs/removal/removal.ts";
import { systemClock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import type { DropFolder } from "#fleet/drop-folder.ts";
import { DropFolderWork, type FileRuns } from "#jobs/drop-folder/work.ts";
import { Limiter } from "#limiter/limiter.ts";
import { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import { runQueues } from "#jobs/runs/work/queue.ts";
import type { Keys } from "#redis/keys.ts";
import { RunService } from "#jobs/runs/service.ts";
import { droppedFileRuns } from "#jobs/drop-folder/file-runs.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { keptBounds, memory, noPolicy, operations, sealInputs } from "../ledger/run-of.ts";
import { noGuard } from "../../support/no-guard.ts";

const settleMs = 60;

export interface DropParts {
  readonly runs: FileRuns;
  readonly work: DropFolderWork;
  readonly ledger: Ledger;
}

export function dropParts(of: {
  redis: Redis;
  connect: (name: string) => Redis;
  keys: Keys;
  path: string;
  profile: string;
  onIncident: (message: string) => void;
  maxChanges?: number;
}): DropParts {
  const { redis, connect, keys, path, profile, onIncident } = of;
  const clock = systemClock;
  const storeDeps = { redis, keys, bounds: keptBounds, clock };
  const [ledger, inventory] = [new Ledger(storeDeps), new Inventory(storeDeps)];
  const workerRegistry = new WorkerRegistry({ redis, keys });
  const queues = runQueues({ connect, keys, ledger, clock, workerRegistry });
  const runService = new RunService({
    ledger,
    inventory,
    queues,
    clock,
    periodMs: 6e4,
    workerRegistry,
    limiter: new Limiter({
      redis,
      keys,
      clock,
      periodMs: 6e4,
      reserve: 0,
    }),
    wordingOf: () => "sims",
    speedClasses: [],
    policy: {
      ...noPolicy,
      maxChanges: of.maxChanges,
    },
    operations,
    sealInputs,
    memory,
    runRemoval: runRemoval({
      redis,
      keys,
      clock,
    }),
  });
  const options = { partial: false, skipUnchanged: false };
  const folder: DropFolder = {
    path,
    profile,
    operation: "set-speed-class",
    set: {},
    name: undefined,
    options,
    settleMs,
  };
  const runs = droppedFileRuns({ runService, clock, folder });
  const work = new DropFolderWork({ folder, runs, feed: new Feed(storeDeps), clock, guard: noGuard, onIncident });
  return { runs, work, ledger };
}
