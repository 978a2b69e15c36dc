/** Runs that are over, and what removes them, on a clock that the test sets. */
import { features } from "#features.ts";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { onTestFinished } from "vitest";
import type { Config } from "#config/config.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { SyncLog } from "#jobs/inventory/store/sync-record.ts";
import { rotationLog } from "#jobs/credentials/record.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { runRemoval } from "#jobs/runs/removal/removal.ts";
import type { RunHead } from "#jobs/runs/ledger/run-record.ts";
import { resultLines } from "#jobs/runs/results/results.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import { Keys } from "#redis/keys.ts";
import type { Retention } from "#config/sections/retention.ts";
import { type SweepDeps, sweep } from "#jobs/storage/service.ts";
import type { TestRedis } from "../../support/redis.ts";
import { begunAtMs, keptBounds, settledAs, submit } from "../ledger/run-of.ts";

const dayMs = 86_400_000;

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
    sweep: (retention: Partial<Retention> = {}, on: Redis = redis, more: Partial<SweepDeps> = {}) => {
      const deps = sweepDeps({ ...collaborators, redis: on }, { ...kept, ...retention });
      return sweep({ ...deps, ...more }, nowMs, new AbortController().signal);
    },
    /** Keys of the run in Redis, without the common prefix. */
    keysOf: async ({ runId }: Pick<RunHead, "runId">): Promise<string[]> => {
      const found = await redis.keys(`${keys.prefix}:run:${runId}*`);
      return found.map((key) => key.slice(keys.run(runId).length)).toSorted();
    },
  };
}

/** What a sweep needs, with one profile and no rotations. */
export function sweepDeps(deps: StoreDeps & { clock: Clock }, retention = kept): SweepDeps {
  const ledger = new Ledger(deps);
  return {
    ...deps,
    ledger,
    runRemoval: runRemoval({ ...deps, ledger }),
    inventory: new Inventory(deps),
    syncs: new SyncLog(deps),
    rotations: rotationLog(deps),
    configured: {},
    features,
    config: { profiles: { default: {} }, retention, audit: { keepMs: dayMs } } as unknown as Config,
    keyColumnOf: () => "simId",
    archiveOf: (record) => ({
      report: { runId: record.runId },
      lines: resultLines(record, ledger, { format: "csv" }),
    }),
  };
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "simfleet-archive-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
