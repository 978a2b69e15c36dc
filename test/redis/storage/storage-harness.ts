/** Runs that are over, and what removes them, on a clock that the test sets. */
import { features } from "#features.ts";
import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import type { Config } from "#config/config.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { rotationLog } from "#jobs/credentials/record.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { runRemoval } from "#jobs/runs/removal/removal.ts";
import { sweepRuns } from "#jobs/runs/removal/sweep.ts";
import { sweepSims } from "#jobs/inventory/service.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { SyncLog } from "#jobs/inventory/store/sync-record.ts";
import { sweepRotations } from "#jobs/credentials/open.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { RunHead } from "#jobs/runs/ledger/run-record.ts";
import { Keys } from "#redis/keys.ts";
import { sweepProfiles } from "#jobs/storage/service.ts";
import type { TestRedis } from "../../support/redis.ts";
import { begunAtMs, keptBounds, settledAs, submit } from "../ledger/run-of.ts";

const dayMs = 86_400_000;

type Retention = Config["retention"];

const kept: Retention = {
  rowDays: 30,
  runDays: 365,
  goneSimDays: 90,
  deliveryDays: 30,
  rotationDays: 365,
  profileDays: 90,
  warnAtPercent: 80,
  archive: undefined,
};

/** Each harness has runs of its own. */
export function storageHarness({ redis, keys: { prefix } }: Pick<TestRedis, "redis" | "keys">) {
  const keys = new Keys(`${prefix}:${randomBytes(4).toString("hex")}`);
  let nowMs = begunAtMs;
  const clock: Clock = { ...systemClock, wallMs: () => nowMs };
  const collaborators = { redis, keys, bounds: keptBounds, clock };
  const ledger = new Ledger(collaborators);

  /** A run with two segments; those of `settled` get an outcome, and are packed if all of their rows have one. */
  const run = async (settled: readonly (readonly number[])[], more: Partial<RunHead> = {}): Promise<RunHead> => {
    const rows = [
      [1, 1],
      [1, 1, 1],
    ];
    const head = await submit(ledger, rows, { createdAtMs: nowMs, ...more });
    for (const [segment, places] of settled.entries()) {
      const settlements = places.map((place) => ({
        place,
        weight: 1,
        settled: settledAs("done"),
        key: `89423${String((head.segments[segment]?.firstRow ?? 0) + place + 1).padStart(14, "0")}`,
      }));
      await ledger.settle(head, segment, settlements, { calls: places.length, throttled: 0 });
      await ledger.finishSegment(head, segment);
    }
    return head;
  };

  return {
    keys,
    ledger,
    removal: runRemoval({ ...collaborators, ledger }),
    run,
    /** A run of which every row is done. */
    endedRun: (more?: Partial<RunHead>) =>
      run(
        [
          [0, 1],
          [0, 1, 2],
        ],
        more,
      ),
    pass: (days: number) => {
      nowMs += days * dayMs;
    },
    /** Lets every feature sweep that keeps something for a time. @param rotations those that are configured */
    sweep: async (retention: Partial<Retention> = {}, on: Redis = redis, rotations = {}) => {
      const deps = kernelOf({ ...collaborators, redis: on }, { ...kept, ...retention });
      const now = { nowMs, signal: new AbortController().signal };
      const runs = new Ledger(deps);
      const log = rotationLog(deps);
      const inventories = { store: new Inventory(deps), syncs: new SyncLog(deps) };
      const swept = [
        await sweepRuns(now, { ...deps, ledger: runs, removal: runRemoval({ ...deps, ledger: runs }) }),
        await sweepSims(now, { ...deps, ...inventories }),
        await sweepRotations(now, { ...deps, log, rotations }),
        await sweepProfiles(now, { ...deps, ...inventories, rotations: log }),
      ];
      const counts: Partial<Record<string, number>> = Object.assign({}, ...swept.map((one) => one.counts));
      return { ...counts, rowsOfRuns: counts["rowsOfRuns"], problems: swept.flatMap(({ problems = [] }) => problems) };
    },
    /** Keys of the run in Redis, without the common prefix. */
    keysOf: async ({ runId }: Pick<RunHead, "runId">): Promise<string[]> => {
      const found = await redis.keys(`${keys.prefix}:run:${runId}*`);
      return found.map((key) => key.slice(keys.run(runId).length)).toSorted();
    },
  };
}

/** What a sweep needs of a kernel with one profile. */
export function kernelOf(stores: Pick<Kernel, "redis" | "keys" | "bounds" | "clock">, retention = kept): Kernel {
  const config = { profiles: { default: {} }, retention, audit: { keepMs: dayMs } } as unknown as Config;
  const used: Partial<Kernel> = { ...stores, features, config, keyColumnOf: () => "simId" };
  return used as Kernel;
}
