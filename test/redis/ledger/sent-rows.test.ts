/** Rows that were sent and are unsafe to repeat, in a run that is ended before their outcome is known. */
import { expect, it, vi } from "vitest";
import { systemClock } from "#core/time.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { readSettled } from "#jobs/runs/results/sent-rows.ts";
import { verdictOfRow } from "#jobs/runs/plan/classify.ts";
import { retrySource } from "#jobs/runs/follow-up.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds, readResults, submit } from "./run-of.ts";
import { sendSms } from "./unsafe-operations.ts";

const { redis, keys } = openTestRedis();
const ledger = new Ledger({ redis, keys, clock: systemClock, bounds: keptBounds });
const inventory = new Inventory({ redis, keys });
const context = { ledger, clock: systemClock };

/** A run of messages with a way to mark one of its rows as sent, and the report of the run. */
async function setup(weights: readonly number[][] = [[1]], [segment, place]: readonly [number, number] = [0, 0]) {
  const { runId } = await submit(ledger, weights, { operations: [sendSms] });
  const tries = { attempts: 0, reason: "", sentAtMs: 1_790_000_000_000 };
  const mark = () => ledger.markSent(runId, segment, { place, tries });
  return { runId, mark, read: () => readSettled(runId, context) };
}

it("sent rows end as unknown when their run is cancelled", async () => {
  const { runId, mark, read } = await setup([[1, 1, 1]], [0, 1]);
  expect(await mark()).toBe(true);
  expect(await mark()).toBe(false);
  await ledger.move(runId, "cancelled", ["running"]);
  const run = await read();
  expect(run.tally).toMatchObject({ unknown: 1, cancelled: 2, pending: 0 });
  const results = await readResults(ledger, run.runId);
  expect(results.map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ["cancelled", ""],
    ["unknown", "sent at 2026-09-21T14:13:20.000Z; a response was lost, so the change may have been made"],
    ["cancelled", ""],
  ]);
});

it("sent rows of a cancelled run are not retried", async () => {
  const { runId, mark, read } = await setup([[1, 1, 1]], [0, 1]);
  await mark();
  await ledger.move(runId, "cancelled", ["running"]);
  const run = await read();
  const retried: string[] = [];
  const { rows } = retrySource(run, { ...context, inventory }, { outcomes: ["failed", "cancelled"] });
  for await (const batch of rows) retried.push(...batch.map(verdictOfRow));
  expect(retried).toEqual(["change", "change"]);
  expect((await read()).tally).toEqual(run.tally);
});

it("sent rows stay unchanged while their run is in progress", async () => {
  const { mark, read } = await setup();
  await mark();
  expect((await read()).tally).toMatchObject({ unknown: 0, pending: 1 });
});

it("sent rows of an ended run are searched once, in the segments that have such rows", async () => {
  const { runId, mark, read } = await setup([[1], [1, 1], [1]], [1, 1]);
  await mark();
  await ledger.move(runId, "cancelled", ["running"]);
  const segments = vi.spyOn(ledger, "segment");
  const searches = vi.spyOn(ledger, "triedSegments");
  for (let shown = 0; shown < 3; shown += 1) {
    expect((await read()).tally).toMatchObject({ unknown: 1, cancelled: 3 });
  }
  expect(segments.mock.calls.map(([, segment]) => segment)).toEqual([1]);
  expect(searches).toHaveBeenCalledTimes(1);
});

it.each(["paused", "cancelled"] as const)("no row is marked as sent in a run that is %s", async (state) => {
  const { runId, mark, read } = await setup();
  await ledger.move(runId, state, ["running"]);
  expect(await mark()).toBe(false);
  expect((await read()).tally).toMatchObject({ unknown: 0 });
});
