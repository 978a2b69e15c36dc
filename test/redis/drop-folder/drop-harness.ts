/** The parts that turn files into runs, for the tests' own process and for those that they kill. */
import type { Redis } from "ioredis";
import { Lifecycle } from "#core/process/lifecycle.ts";
import { systemClock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import { DropFolderWork, type FileRuns, droppedFileRuns } from "#jobs/drop-folder/work.ts";
import { Limiter } from "#limiter/limiter.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { runQueues } from "#jobs/runs/work/queue.ts";
import type { Keys } from "#redis/keys.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { runServiceOn } from "../ledger/run-service.ts";
import { dropFolderOf } from "../../support/drop-folder.ts";
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
  const collaborators = { redis, keys, bounds: keptBounds, clock };
  const ledger = new Ledger(collaborators);
  const workerRegistry = openWorkerRegistry({ redis, keys });
  const { runs: runService } = runServiceOn(
    { redis, keys },
    {
      queues: runQueues({ redis, connect, keys, ledger, clock, workerRegistry, lifecycle: new Lifecycle() }),
      workerRegistry,
      limiter: new Limiter({ redis, keys, clock, periodMs: 6e4, reserve: 0 }),
      policy: { maxChanges: of.maxChanges },
    },
  );
  const folder = dropFolderOf(path, settleMs, profile);
  const runs = droppedFileRuns({ runService, clock, folder });
  const work = new DropFolderWork({ folder, runs, feed: new Feed(collaborators), clock, guard: noGuard, onIncident });
  return { runs, work, ledger };
}
