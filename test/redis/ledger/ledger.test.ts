import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import type { Event } from "#events/event.ts";
import { Feed } from "#events/feed.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import type { StoredRow } from "#jobs/runs/ledger/packing.ts";
import { runKeys } from "#jobs/runs/ledger/keys.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
import { begunAtMs, keptBounds, rowAs, runOf, submit, wavesOf } from "./run-of.ts";

const { redis, keys } = openTestRedis();
const ledger = new Ledger({ redis, keys, clock: systemClock, bounds: keptBounds });
const noCounts = { calls: 0, throttled: 0 };

/** A ledger and a feed in which no other test writes. */
function setup() {
  const ownKeys = keysWithin(keys);
  const parts = { redis, keys: ownKeys, clock: systemClock, bounds: keptBounds };
  const feed = new Feed(parts);
  const readReported = async (runId: string): Promise<Event[]> => {
    const { events } = await feed.newest({ fields: { run: runId } }, { limit: 100 });
    return events.toReversed();
  };
  return { own: new Ledger(parts), keys: ownKeys, readReported };
}

describe("the submission of a run", () => {
  it("a run draft expires until it is committed and is not listed before", async () => {
    const { head, segments } = runOf([[1, 1]]);
    await ledger.draftSegment(head.runId, 0, segments[0] ?? []);
    const seconds = await redis.ttl(runKeys(keys).draft(head.runId));
    expect(seconds).toBeGreaterThan(3_000);
    expect(seconds).toBeLessThanOrEqual(3_600);
    await expect(ledger.run(head.runId)).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await ledger.commit(head, "running", head.runId);
    expect(await redis.ttl(runKeys(keys).input(head.runId))).toBe(-1);
    expect(await ledger.run(head.runId)).toMatchObject({ ...head, state: "running", startedAtMs: begunAtMs });
    expect((await ledger.segment(head, 0)).rows).toEqual(segments[0]);
  });

  it("a run is refused if one of its segments has expired", async () => {
    const { head, segments } = runOf([[1], [1]]);
    await ledger.draftSegment(head.runId, 0, segments[0] ?? []);
    await ledger.discard(head.runId); // as the hour does
    await ledger.draftSegment(head.runId, 1, segments[1] ?? []);
    await expect(ledger.commit(head, "running", head.runId)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("submit it again"),
    });
  });
});

it("a run starts whose head holds half of a character", async () => {
  const { runId } = await submit(ledger, [[1]], { changes: [{ to: "x\ud83d", count: 1 }] });
  expect(await redis.smembers(runKeys(keys).started())).toContain(runId);
});

describe("runs in progress", () => {
  it("a cancelled run is ending and its rows are pending while a process holds a lease", async () => {
    const head = await submit(ledger, [[1, 1], [1]], { profile: "leased" });
    expect(await ledger.hold(head.runId, ["one"])).toBe("running");
    expect(await ledger.hold(head.runId, ["two"])).toBe("running");
    expect(await ledger.run(head.runId)).toMatchObject({ isEnding: false });
    await ledger.move(head.runId, "cancelled", ["running"]);
    expect(await ledger.hold(head.runId, ["one", "late"])).toBe("cancelled");
    await ledger.release(head.runId, "two");
    const ending = { state: "cancelled", isEnding: true, finishedAtMs: undefined, tally: { cancelled: 0, pending: 3 } };
    expect(await ledger.run(head.runId)).toMatchObject(ending);
  });

  it("a cancelled run ends when the last lease is released, and the rows without an outcome are cancelled", async () => {
    const head = await submit(ledger, [[1, 1], [1]], { profile: "released" });
    await ledger.hold(head.runId, ["one"]);
    await ledger.move(head.runId, "cancelled", ["running"]);
    const endedAtMs = Number(await redis.hget(keys.run(head.runId), "finishedAtMs"));
    await systemClock.sleep(2);
    await ledger.settle(head, 0, [rowAs("done")], noCounts);
    await ledger.release(head.runId, "one");
    const ended = await ledger.run(head.runId);
    expect(ended).toMatchObject({ isEnding: false, tally: { done: 1, cancelled: 2, pending: 0 } });
    expect(ended.finishedAtMs).toBeGreaterThan(endedAtMs);
  });

  it("a run drops a lease that is not renewed for some seconds", async () => {
    const head = await submit(ledger, [[1, 1]], { profile: "stale" });
    await ledger.hold(head.runId, ["killed", "alive"]);
    await ledger.move(head.runId, "cancelled", ["running"]);
    const now = await redis.time();
    const past = Number(now[0]) * 1_000 - 1;
    await redis.hset(runKeys(keys).leases(head.runId), "killed", past, "alive", past + 5_000);
    expect((await ledger.run(head.runId)).isEnding).toBe(true);
    expect(await redis.pttl(runKeys(keys).leases(head.runId))).toBeGreaterThan(5_000);
    await ledger.release(head.runId, "alive");
    expect(await ledger.run(head.runId)).toMatchObject({ isEnding: false, tally: { cancelled: 2 } });
  });

  it("a run is aborted with a reason by a failed canary row or by too many failures", async () => {
    const canary = await submit(ledger, [[1, 1], [1]], { waves: wavesOf([2, 1]) });
    expect((await ledger.settle(canary, 0, [rowAs("rejected")], noCounts)).state).toBe("aborted");
    expect(await ledger.run(canary.runId)).toMatchObject({ reason: "a canary row failed", tally: { cancelled: 2 } });
    const limited = await submit(ledger, [[2, 1, 1]], { maxFailures: 1 });
    expect((await ledger.settle(limited, 0, [rowAs("rejected", 0, 2)], noCounts)).state).toBe("aborted");
    expect((await ledger.run(limited.runId)).reason).toBe("2 rows failed or were rejected, more than the 1 allowed");
  });

  it("a run changes state only from the states that allow it", async () => {
    const head = await submit(ledger, [[1]]);
    await ledger.move(head.runId, "paused", ["running"]);
    await expect(ledger.move(head.runId, "paused", ["running"])).rejects.toMatchObject({
      code: "RUN_STATE_CONFLICT",
      message: `Run ${head.runId} is paused; only a running run can be paused`,
    });
    await expect(ledger.move("r-none", "paused", ["running"])).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(await ledger.state("r-none")).toBe("gone");
    const gone = { runId: "r-none", profile: "default" };
    expect(await ledger.settle(gone, 0, [rowAs("done")], noCounts)).toMatchObject({ state: "gone" });
  });
});

describe("the list of runs", () => {
  it("runs are read newest first, a few at a time, and each once", async () => {
    const { own } = setup();
    const ids: string[] = [];
    for (const after of [0, 0, 1, 1, 2, 2, 3]) {
      ids.push((await submit(own, [[1]], { createdAtMs: begunAtMs + after })).runId);
    }
    const seen: string[] = [];
    for await (const { runId } of own.newest(undefined, 3)) seen.push(runId);
    expect(seen.toSorted()).toEqual(ids.toSorted());
    expect(seen[0]).toBe(ids[6]);
    expect(seen.at(-1)).toSatisfy((last: string) => ids.slice(0, 2).includes(last));
    await expect(own.newest("r-none").next()).rejects.toMatchObject({ code: "REQUEST_INVALID" });
    await own.move(ids[6] ?? "", "paused", ["running"]);
    expect((await own.running()).map(({ runId }) => runId).toSorted()).toEqual(ids.slice(0, 6).toSorted());
  });

  it("runs are read to the oldest although one is deleted meanwhile", async () => {
    const { own, keys: space } = setup();
    for (let i = 0; i < 5; i += 1) await submit(own, [[1]], { createdAtMs: begunAtMs + i });
    const seen: string[] = [];
    for await (const { runId } of own.newest(undefined, 2)) {
      seen.push(runId);
      if (seen.length === 2) await redis.zrem(runKeys(space).runs(), runId);
    }
    expect(seen).toHaveLength(5);
  });
});

describe("memory use of runs", () => {
  it("a finished run uses at most 150 bytes of Redis per row", async () => {
    const rows = 100_000;
    const size = 500;
    const { own, keys: ownKeys } = setup();
    const weights = Array.from({ length: rows / size }, () => Array.from({ length: size }, () => 1));
    const head = await submit(own, weights, {}, ({ index }) => realRow(index));
    for (const [segment, places] of weights.entries()) {
      await own.settle(head, segment, places.map(realSettlement), { calls: size, throttled: 0 });
      expect(await own.finishSegment(head, segment)).toBe(true);
    }
    const sizes = (await redis.keys(`${ownKeys.prefix}:*`)).map((key) => redis.memory("USAGE", key, "SAMPLES", 0));
    const byKey = (await Promise.all(sizes)).reduce<number>((sum, bytes) => sum + Number(bytes), 0);
    expect((await own.run(head.runId)).state).toBe("completed");
    expect(byKey / rows).toBeLessThanOrEqual(150);
  }, 600_000);
});

/** A row with a SIM's 19 digits that follow no other, and three columns of the kind that people have. */
function realRow(index: number): StoredRow {
  const simId = `8942310${String(randomInt(1e12)).padStart(12, "0")}`;
  const cells = [
    simId,
    "s1.fast",
    `site-${randomInt(400)}`,
    `asset ${randomInt(1e6)}`,
    `2026-${1 + randomInt(12)}-${1 + randomInt(28)}`,
  ];
  return { index, line: index + 2, key: simId, inputs: ["s1.fast"], cells, weight: 1, before: ["s1.slow"] };
}

function realSettlement(_: number, place: number) {
  const finishedAtMs = begunAtMs + randomInt(3_600_000);
  const settled = { outcome: "done", reason: "", previous: ["s1.slow"], attempts: 1, finishedAtMs } as const;
  return { place, key: `8942300000${place}`, weight: 1, settled };
}

describe("run events in the feed", () => {
  const countsOf = ({ type, fields }: Event) => [type, fields.done, fields.pending, fields.by];

  it("the feed contains each pause and resumption of a run once with its counts and user", async () => {
    const { own, readReported } = setup();
    const { runId } = await submit(own, [[1, 2], [1]], { submittedBy: "cli:anna" });
    await own.move(runId, "paused", ["running", "paused"], { reason: "lunch", by: "cli:ben" });
    await own.move(runId, "paused", ["running", "paused"], { reason: "a long lunch" });
    await own.move(runId, "running", ["paused", "running"], { by: "cli:ben" });
    expect((await readReported(runId)).map(countsOf)).toEqual([
      ["run.submitted", "0", "4", "cli:anna"],
      ["run.paused", "0", "4", "cli:ben"],
      ["run.resumed", "0", "4", "cli:ben"],
    ]);
  });

  it("the feed contains the completion of a run once with its counts", async () => {
    const { own, readReported } = setup();
    const { runId } = await submit(own, [[1, 2], [1]]);
    const run = { runId, profile: "default" };
    await own.settle(run, 0, [rowAs("done"), rowAs("done", 1, 2)], noCounts);
    for (let times = 0; times < 2; times += 1) await own.settle(run, 1, [rowAs("done")], noCounts);
    await own.move(runId, "cancelled", ["running"]).catch(() => undefined);
    const [, ...afterSubmission] = await readReported(runId);
    expect(afterSubmission.map(countsOf)).toEqual([["run.completed", "4", "0", undefined]]);
  });

  it("the feed contains why a run was aborted and how many rows were cancelled", async () => {
    const { own, readReported } = setup();
    const aborted = await submit(own, [[1, 1, 1]], { maxFailures: 0 });
    await own.settle({ runId: aborted.runId, profile: "default" }, 0, [rowAs("failed")], noCounts);
    expect((await readReported(aborted.runId)).at(-1)).toMatchObject({
      type: "run.aborted",
      fields: { failed: "1", cancelled: "2", reason: expect.stringContaining("more than the 0 allowed") },
    });
  });

  it("the feed contains why and by whom a run was cancelled, and how many rows", async () => {
    const { own, readReported } = setup();
    const cancelled = await submit(own, [[1, 1]]);
    await own.move(cancelled.runId, "cancelled", ["running"], { reason: "enough", by: "cli:anna" });
    expect((await readReported(cancelled.runId)).at(-1)).toMatchObject({
      type: "run.cancelled",
      fields: { cancelled: "2", reason: "enough", by: "cli:anna" },
    });
  });

  it("the feed contains a run once even if it is committed again after a lost response", async () => {
    const { own, keys: ownKeys, readReported } = setup();
    const { head, segments } = runOf([[1]]);
    await own.draftSegment(head.runId, 0, segments[0] ?? []);
    expect(await own.commit(head, "awaiting-approval", head.runId)).toBe("committed");
    expect(await own.commit(head, "awaiting-approval", head.runId)).toBe("committed");
    await own.draftSegment("again", 0, segments[0] ?? []);
    expect(await own.commit(head, "running", "again")).toBe("exists");
    expect(await redis.exists(runKeys(ownKeys).draft("again"))).toBe(0);
    expect(await redis.ttl(runKeys(ownKeys).input(head.runId))).toBe(-1);
    expect(await own.run(head.runId)).toMatchObject({ state: "awaiting-approval", startedAtMs: undefined });
    await own.move(head.runId, "running", ["awaiting-approval"], { by: "cli:ben" });
    const types = (await readReported(head.runId)).map(({ type }) => type);
    expect(types).toEqual(["run.submitted", "run.awaiting-approval", "run.approved"]);
  });
});
