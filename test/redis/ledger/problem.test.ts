/** The current problem of a run: recorded by failed calls, cleared by a usable response, reported by two events. */
import { expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { reportOfRun } from "#jobs/runs/report.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds, settledAs, submit } from "./run-of.ts";

const { redis, keys } = openTestRedis();
let wallMs = 1_790_000_000_000;
const clock = { ...systemClock, wallMs: () => wallMs };
const ledger = new Ledger({ redis, keys, clock, bounds: keptBounds });
const noCalls = { calls: 0, throttled: 0 };

function fail(runId: string, delayMs: number, message = "the platform answered 500"): Promise<void> {
  return ledger.recordProblem(runId, { message, delayMs });
}

function settle(
  run: { runId: string; profile: string },
  place: number,
  outcome: "done" | "rejected" | "failed" | "skipped",
) {
  const row = { place, key: `89423000000000000${place}`, weight: 1, settled: settledAs(outcome) };
  return ledger.settle(run, 0, [row], noCalls);
}

async function eventsOf(runId: string): Promise<string[]> {
  const entries = await redis.xrange(keys.events(), "-", "+");
  const fields = entries.map(([, flat]) => Object.fromEntries(flat.map((name, i) => [name, flat[i + 1] ?? ""])));
  return fields.filter(({ run }) => run === runId).map(({ type = "" }) => type);
}

it("a run keeps its problem with its start, the failed attempts, and the earliest next attempt", async () => {
  const { runId } = await submit(ledger, [[1, 1, 1]]);
  const sinceMs = wallMs;
  await fail(runId, 4_000);
  wallMs += 1_000;
  await fail(runId, 9_000, "the connection was reset");
  expect((await ledger.run(runId)).problem).toEqual({
    message: "the connection was reset",
    sinceMs,
    attempts: 2,
    nextAttemptMs: sinceMs + 4_000,
  });
});

it("a run with a problem reports it and no estimated end", async () => {
  const { runId } = await submit(ledger, [[1, 1, 1]]);
  const expected = { startMs: 0, endMs: 7_000, ahead: { runs: [], calls: 0 } };
  expect(reportOfRun(await ledger.run(runId), expected).etaSeconds).toBe(7);
  await fail(runId, 4_000);
  const report = reportOfRun(await ledger.run(runId), expected);
  expect(report.etaSeconds).toBeNull();
  expect(report.problem).toMatchObject({ message: "the platform answered 500", attempts: 1 });
  expect(Date.parse(report.problem?.nextAttemptAt ?? "")).toBe(wallMs + 4_000);
});

it("a single failed call that is retried within a second is not reported", async () => {
  const { runId } = await submit(ledger, [[1, 1]]);
  await fail(runId, 400);
  expect(reportOfRun(await ledger.run(runId))).not.toHaveProperty("problem");
});

it.each(["done", "rejected"] as const)("a response of %s clears the problem of a run", async (outcome) => {
  const head = await submit(ledger, [[1, 1, 1]]);
  await fail(head.runId, 4_000);
  await settle(head, 0, outcome);
  expect((await ledger.run(head.runId)).problem).toBeUndefined();
});

it.each(["failed", "skipped"] as const)(
  "a row that is %s without a usable response leaves the problem of its run",
  async (outcome) => {
    const head = await submit(ledger, [[1, 1, 1]]);
    await fail(head.runId, 4_000);
    await settle(head, 0, outcome);
    expect((await ledger.run(head.runId)).problem).toBeDefined();
  },
);

it("a run is stalled once after 10 s without a usable response and recovers with the first one", async () => {
  const head = await submit(ledger, [[1, 1, 1]]);
  await fail(head.runId, 1_000);
  wallMs += 8_000;
  await fail(head.runId, 1_000);
  expect(await eventsOf(head.runId)).not.toContain("run.stalled");
  wallMs += 2_000;
  await fail(head.runId, 1_000);
  await fail(head.runId, 1_000);
  await settle(head, 0, "done");
  await settle(head, 1, "done");
  const events = (await eventsOf(head.runId)).filter((type) => type.startsWith("run."));
  expect(events).toEqual(["run.submitted", "run.stalled", "run.recovered"]);
});

it("a run whose next attempt is 30 s away is stalled at once", async () => {
  const { runId } = await submit(ledger, [[1]]);
  await fail(runId, 30_000, "the credentials were rejected");
  const entries = await redis.xrange(keys.events(), "-", "+");
  const stalled = entries.map(([, flat]) => flat).find((flat) => flat.includes("run.stalled") && flat.includes(runId));
  expect(stalled).toContain("the credentials were rejected");
});

it("a run that waits for a freeze shows it and does not count as stalled", async () => {
  const { runId } = await submit(ledger, [[1]]);
  await ledger.recordProblem(runId, { message: "nothing may change", delayMs: 60_000, isExpected: true });
  expect(reportOfRun(await ledger.run(runId))).toMatchObject({
    etaSeconds: null,
    problem: { message: "nothing may change" },
  });
  expect(await eventsOf(runId)).not.toContain("run.stalled");
});

it("a freeze stays visible while calls in flight end and is cleared by the first response after it", async () => {
  const head = await submit(ledger, [[1, 1, 1]]);
  await ledger.recordProblem(head.runId, { message: "nothing may change", delayMs: 10_000, isExpected: true });
  await settle(head, 0, "done");
  expect((await ledger.run(head.runId)).problem?.message).toBe("nothing may change");
  wallMs += 10_000;
  await settle(head, 1, "done");
  expect((await ledger.run(head.runId)).problem).toBeUndefined();
});

it("a problem survives a pause and is cleared by a resume or the end of the run", async () => {
  const { runId } = await submit(ledger, [[1, 1]]);
  await fail(runId, 4_000);
  await ledger.move(runId, "paused", ["running"]);
  expect((await ledger.run(runId)).problem).toBeDefined();
  await fail(runId, 4_000);
  expect((await ledger.run(runId)).problem?.attempts).toBe(1);
  await ledger.move(runId, "running", ["paused"]);
  expect((await ledger.run(runId)).problem).toBeUndefined();
  await fail(runId, 4_000);
  await ledger.move(runId, "cancelled", ["running"]);
  expect(reportOfRun(await ledger.run(runId))).not.toHaveProperty("problem");
});
