/** The current problem of a run: recorded by failed calls, cleared by a usable response, reported by two events. */
import { expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import { reportOfRun } from "#jobs/runs/report.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds, settledAs, submit } from "./run-of.ts";

const { redis, keys } = openTestRedis();
let wallMs = 1_790_000_000_000;
const clock = { ...systemClock, wallMs: () => wallMs };
const parts = { redis, keys, clock, bounds: keptBounds };
const ledger = new Ledger(parts);
const feed = new Feed(parts);
const noCalls = { calls: 0, throttled: 0 };

/** A run of three rows, what may happen to it, and what is known of it. */
async function setup() {
  const head = await submit(ledger, [[1, 1, 1]]);
  const { runId } = head;
  const settle = (place: number, outcome: "done" | "rejected" | "failed" | "skipped") => {
    const row = { place, key: `89423000000000000${place}`, weight: 1, settled: settledAs(outcome) };
    return ledger.settle(head, 0, [row], noCalls);
  };
  return {
    runId,
    fail: (delayMs: number, message = "the platform answered 500") => ledger.recordProblem(runId, { message, delayMs }),
    waitForFreeze: (delayMs: number) =>
      ledger.recordProblem(runId, { message: "nothing may change", delayMs, isExpected: true }),
    settle,
    run: () => ledger.run(runId),
    problem: async () => (await ledger.run(runId)).problem,
    events: async () => (await feed.newest({ fields: { run: runId } }, { limit: 100 })).events.toReversed(),
  };
}

it("a run keeps its problem with its start, the failed attempts, and the earliest next attempt", async () => {
  const { fail, problem } = await setup();
  const sinceMs = wallMs;
  await fail(4_000);
  wallMs += 1_000;
  await fail(9_000, "the connection was reset");
  const facts = { sinceMs, attempts: 2, nextAttemptMs: sinceMs + 4_000 };
  expect(await problem()).toEqual({ message: "the connection was reset", ...facts });
});

it("a run with a problem reports it and no estimated end", async () => {
  const { fail, run } = await setup();
  const expected = { startMs: 0, endMs: 7_000, ahead: { runs: [], calls: 0 } };
  expect(reportOfRun(await run(), expected).etaSeconds).toBe(7);
  await fail(4_000);
  const report = reportOfRun(await run(), expected);
  expect(report.etaSeconds).toBeNull();
  expect(report.problem).toMatchObject({ message: "the platform answered 500", attempts: 1 });
  expect(Date.parse(report.problem?.nextAttemptAt ?? "")).toBe(wallMs + 4_000);
});

it("a single failed call that is retried within a second is not reported", async () => {
  const { fail, run } = await setup();
  await fail(400);
  expect(reportOfRun(await run())).not.toHaveProperty("problem");
});

it.each(["done", "rejected"] as const)("a response of %s clears the problem of a run", async (outcome) => {
  const { fail, settle, problem } = await setup();
  await fail(4_000);
  await settle(0, outcome);
  expect(await problem()).toBeUndefined();
});

it.each(["failed", "skipped"] as const)(
  "a row that is %s without a usable response leaves the problem of its run",
  async (outcome) => {
    const { fail, settle, problem } = await setup();
    await fail(4_000);
    await settle(0, outcome);
    expect(await problem()).toBeDefined();
  },
);

it("a run is stalled once after 10 s without a usable response and recovers with the first one", async () => {
  const { fail, settle, events } = await setup();
  await fail(1_000);
  wallMs += 8_000;
  await fail(1_000);
  expect((await events()).map(({ type }) => type)).not.toContain("run.stalled");
  wallMs += 2_000;
  await fail(1_000);
  await fail(1_000);
  await settle(0, "done");
  await settle(1, "done");
  const types = (await events()).map(({ type }) => type).filter((type) => type.startsWith("run."));
  expect(types).toEqual(["run.submitted", "run.stalled", "run.recovered"]);
});

it("a run whose next attempt is 30 s away is stalled at once", async () => {
  const { fail, events } = await setup();
  await fail(30_000, "the credentials were rejected");
  const stalled = (await events()).find(({ type }) => type === "run.stalled");
  expect(Object.values(stalled?.fields ?? {})).toContain("the credentials were rejected");
});

it("a run that waits for a freeze shows it and does not count as stalled", async () => {
  const { waitForFreeze, run, events } = await setup();
  await waitForFreeze(60_000);
  const problem = { message: "nothing may change" };
  expect(reportOfRun(await run())).toMatchObject({ etaSeconds: null, problem });
  expect((await events()).map(({ type }) => type)).not.toContain("run.stalled");
});

it("a freeze stays visible while calls in flight end and is cleared by the first response after it", async () => {
  const { waitForFreeze, settle, problem } = await setup();
  await waitForFreeze(10_000);
  await settle(0, "done");
  expect((await problem())?.message).toBe("nothing may change");
  wallMs += 10_000;
  await settle(1, "done");
  expect(await problem()).toBeUndefined();
});

it("a problem survives a pause and is cleared by a resume or the end of the run", async () => {
  const { runId, fail, run, problem } = await setup();
  await fail(4_000);
  await ledger.move(runId, "paused", ["running"]);
  expect(await problem()).toBeDefined();
  await fail(4_000);
  expect((await problem())?.attempts).toBe(1);
  await ledger.move(runId, "running", ["paused"]);
  expect(await problem()).toBeUndefined();
  await fail(4_000);
  await ledger.move(runId, "cancelled", ["running"]);
  expect(reportOfRun(await run())).not.toHaveProperty("problem");
});
