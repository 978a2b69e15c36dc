/** What a sweep removes, what it keeps, and what is left after one that was cut off. */
import { writeFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { messageOf } from "#core/errors.ts";
import { resultLines } from "#jobs/runs/results/results.ts";
import { openTestRedis } from "../../support/redis.ts";
import { allRuns } from "../ledger/run-of.ts";
import { storageHarness } from "./storage-harness.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const place = openTestRedis();

/** A run whose segments have these rows settled, or that has ended. */
async function setup(settled?: readonly (readonly number[])[]) {
  const harness = storageHarness(place);
  return { harness, run: await (settled ? harness.run(settled) : harness.endedRun()) };
}

describe("a run that is over", () => {
  it("loses its rows after the days for rows, keeps its counts, and says where the rows are", async () => {
    const { harness, run } = await setup();
    harness.pass(29);
    expect(await harness.sweep()).toMatchObject({ rowsOfRuns: 0, runs: 0 });
    harness.pass(2);
    expect(await harness.sweep()).toMatchObject({ rowsOfRuns: 1, runs: 0, problems: [] });
    expect(await harness.keysOf(run)).toEqual([""]);
    const record = await harness.ledger.run(run.runId);
    expect(record.tally).toMatchObject({ total: 5, done: 5, pending: 0 });
    const results = resultLines(record, harness.ledger, { format: "csv" });
    await expect(async () => {
      for await (const _ of results);
    }).rejects.toMatchObject({ code: "ROWS_REMOVED" });
    expect(await harness.sweep()).toMatchObject({ rowsOfRuns: 0, runs: 0 });
  });

  it("is removed with everything after the days for runs", async () => {
    const { harness, run } = await setup();
    harness.pass(366);
    expect(await harness.sweep()).toMatchObject({ rowsOfRuns: 1, runs: 1, problems: [] });
    expect(await harness.keysOf(run)).toEqual([]);
    expect((await allRuns(harness.ledger)).map(({ runId }) => runId)).not.toContain(run.runId);
  });

  it("loses the keys of segments that were in progress when it was cancelled", async () => {
    const { harness, run } = await setup([[0], [1]]);
    await harness.ledger.recordTries(run.runId, 0, new Map([[1, { attempts: 1, reason: "timeout" }]]));
    await harness.ledger.move(run.runId, "cancelled", ["running"]);
    harness.pass(31);
    await harness.sweep();
    expect(await harness.keysOf(run)).toEqual([""]);
  });

  it("gets no key back from a process that finishes a segment late", async () => {
    const { harness, run } = await setup();
    await harness.removal.remove(run);
    await harness.ledger.finishSegment(run, 0);
    expect(await harness.keysOf(run)).toEqual([]);
  });
});

describe("a run that is not over", () => {
  it.each(["running", "paused", "awaiting-approval"] as const)(
    "keeps its rows for years while it is %s",
    async (state) => {
      const harness = storageHarness(place);
      const run = await harness.run([[0, 1]]);
      await place.redis.hset(harness.keys.run(run.runId), "state", state);
      const before = await harness.keysOf(run);
      harness.pass(1_000);
      expect(await harness.sweep()).toMatchObject({ rowsOfRuns: 0, runs: 0, problems: [] });
      expect(await harness.keysOf(run)).toEqual(before);
      await expect(harness.removal.remove(run)).rejects.toThrow(`cannot be deleted: it is ${state}`);
    },
  );

  it("cannot be removed while a worker holds a lease on it", async () => {
    const { harness, run } = await setup([[0]]);
    await harness.ledger.hold(run.runId, ["worker-1"]);
    await harness.ledger.move(run.runId, "cancelled", ["running"]);
    await expect(harness.removal.remove(run)).rejects.toThrow("calls of it are still in flight");
    await harness.ledger.release(run.runId, "worker-1");
    await harness.removal.remove(run);
    expect(await harness.keysOf(run)).toEqual([]);
  });
});

describe("the archive", () => {
  it("has the results and the report of a run before its rows are removed", async () => {
    const harness = storageHarness(place);
    const archive = temporaryFolder();
    const run = await harness.endedRun();
    const lines: string[] = [];
    const record = await harness.ledger.run(run.runId);
    for await (const line of resultLines(record, harness.ledger, { format: "csv" })) lines.push(line);
    harness.pass(31);
    expect(await harness.sweep({ archive })).toMatchObject({ rowsOfRuns: 1, problems: [] });
    const { archive: path = "" } = await harness.ledger.run(run.runId);
    expect(gunzipSync(readFileSync(path)).toString()).toBe(lines.join(""));
    const report = path.replace(".results.csv.gz", ".report.json");
    expect(JSON.parse(readFileSync(report, "utf8"))).toMatchObject({ runId: run.runId });
    expect(readdirSync(archive)).toEqual([new Date(run.createdAtMs).toISOString().slice(0, 4)]);
  });

  it("that cannot be written keeps the rows in Redis, and the next sweep removes them", async () => {
    const harness = storageHarness(place);
    const folder = temporaryFolder();
    const archive = join(folder, "results");
    await writeFile(archive, "a file, not a folder");
    const run = await harness.endedRun();
    const before = await harness.keysOf(run);
    harness.pass(31);
    const { rowsOfRuns, problems } = await harness.sweep({ archive });
    expect(rowsOfRuns).toBe(0);
    expect(problems).toContainEqual(expect.stringContaining(run.runId));
    expect(await harness.keysOf(run)).toEqual(before);
    expect(await harness.sweep({ archive: folder })).toMatchObject({ problems: [] });
    expect(await harness.keysOf(run)).toEqual([""]);
  });
});

/** The problems that a sweep reports, or the one that ended it. */
function problemsOf(sweep: ReturnType<ReturnType<typeof storageHarness>["sweep"]>): Promise<readonly string[]> {
  return sweep.then(({ problems }) => problems).catch((thrown: unknown) => [messageOf(thrown)]);
}

it("a removal that is cut off at any command is completed by the next sweep", async () => {
  const harness = storageHarness(place);
  for (let allowed = 0; ; allowed += 1) {
    const archive = temporaryFolder();
    const run = await harness.run([[0], [0, 1, 2]]);
    await harness.ledger.move(run.runId, "cancelled", ["running"]);
    harness.pass(400);
    const problems = await problemsOf(harness.sweep({ archive }, afterCommands(place.redis, allowed)));
    expect(await harness.sweep({ archive })).toMatchObject({ problems: [] });
    expect(await harness.keysOf(run)).toEqual([]);
    expect(readdirSync(archive)).toHaveLength(1);
    if (problems.length === 0) break;
    expect(problems.join()).toContain("the connection is lost");
  }
});

/** A connection that fails every command after the first few. */
function afterCommands(redis: Redis, allowed: number): Redis {
  let left = allowed;
  return new Proxy(redis, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        left -= 1;
        const lost = new Error("the connection is lost");
        if (left < 0 && name === "multi") throw lost;
        if (left < 0) return Promise.reject(lost);
        return (value as (...given: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}
