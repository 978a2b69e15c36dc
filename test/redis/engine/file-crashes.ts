/** Files of a drop folder, to be killed: each becomes one run, and ends in one place with its results. */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect } from "vitest";
import { systemClock } from "#core/time.ts";
import { beforeAll, Feed } from "#events/feed.ts";
import { Folder, type FileRuns, DropFolderWork } from "#jobs/drop-folder/work.ts";
import { runIdFor } from "#jobs/runs/submit.ts";
import { keysWithin, type TestRedis } from "../../support/redis.ts";
import { keptBounds } from "../ledger/run-of.ts";
import type { Around, CrashCase, CrashSubject } from "./crashes.ts";
import { dropFolderOf } from "../../support/drop-folder.ts";
import { noGuard } from "../../support/no-guard.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const settleMs = 1_000;
const content = "simId,speedClass\n8942300000000000001,s1.fast\n";
const sha256 = "0".repeat(64);

/** The folder with each write as a call that a crash can interrupt. */
function crashing(path: string, around: Around): Folder {
  const folder = new Folder(path);
  const writes = {
    move: folder.move.bind(folder),
    put: folder.put.bind(folder),
    sweep: folder.sweep.bind(folder),
  };
  folder.digest = () => Promise.resolve(sha256);
  return Object.assign(folder, around("folder", writes));
}

interface Way {
  readonly name: string;
  /** Why the file cannot become a run. */
  readonly reason?: string;
}

function begun(place: TestRedis, { name, reason }: Way): CrashSubject {
  const path = temporaryFolder();
  writeFileSync(join(path, name), content);
  const keys = keysWithin(place.keys);
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const feedOf = (redis: TestRedis["redis"]) => new Feed({ redis, keys, clock: systemClock, bounds: keptBounds });
  /** Runs by id, and whether each is over. */
  const runs = new Map<string, boolean>();
  const filesIn = (folder: string): string[] =>
    readdirSync(join(path, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => entry.name);
  const inputs = (folder: string): string[] =>
    existsSync(join(path, folder)) ? filesIn(folder).filter((one) => /-\w{8}\.csv$/.test(one)) : [];
  const state = (): string =>
    ["processing", "done", "failed"].find((folder) => inputs(folder).length > 0) ?? "incoming";
  return {
    async work(around) {
      const calls = around("runs", {
        submit: (runId: string) => {
          if (reason !== undefined) return Promise.resolve({ reason, faults: [] });
          if (!runs.has(runId)) runs.set(runId, false);
          return Promise.resolve(undefined);
        },
      });
      const fileRuns: FileRuns = {
        newRunId: () => runIdFor(randomBytes(8).toString("hex"), systemClock.wallMs()),
        submit: (_, { runId }) => calls.submit(runId),
        status: (runId) => {
          const isOver = runs.get(runId);
          if (isOver !== true) return Promise.resolve(isOver === undefined ? undefined : { isOver });
          return Promise.resolve({ isOver, isGood: true, state: "completed", reason: "", sha256 });
        },
        results: () => Readable.from(["simId,outcome\n"]),
      };
      const work = new DropFolderWork({
        folder: dropFolderOf(path, settleMs),
        files: crashing(path, around),
        runs: fileRuns,
        feed: feedOf(around("redis", place.redis)),
        clock,
        guard: noGuard,
        onIncident: () => undefined,
      });
      for (let round = 0; round < 4; round += 1) {
        await work.round(new AbortController().signal);
        nowMs += settleMs;
        for (const runId of runs.keys()) runs.set(runId, true);
      }
    },
    state: () => Promise.resolve(state()),
    isOver: () => Promise.resolve(["done", "failed"].includes(state())),
    async checkEnd() {
      const end = state();
      expect([...filesIn("."), ...filesIn("processing")]).toEqual([]);
      expect(inputs(end)).toHaveLength(1);
      expect(filesIn(end)).toContain(
        (inputs(end)[0] ?? "").replace(/csv$/, end === "done" ? "results.csv" : "problem.txt"),
      );
      expect(runs.size).toBe(end === "done" ? 1 : 0);
      const reported = [...(await feedOf(place.redis).after(beforeAll, 100)).events].map(({ type }) => type);
      return [end, ...reported].join(", ");
    },
  };
}

export const fileCases = (place: TestRedis): readonly CrashCase[] => [
  {
    name: "a file of a drop folder",
    begin: () => begun(place, { name: "fleet.csv" }),
    end: "done, file.taken, file.done",
    states: ["incoming", "processing", "done"],
  },
  {
    name: "a file of a drop folder that is refused",
    begin: () => begun(place, { name: "fleet.csv", reason: "1 of 1 rows cannot be sent" }),
    end: "failed, file.taken, file.rejected",
    states: ["incoming", "processing", "failed"],
  },
  {
    name: "a file of a drop folder whose name is refused",
    begin: () => begun(place, { name: "fleet\u0007.csv" }),
    end: "failed, file.rejected",
    states: ["incoming", "failed"],
  },
];
