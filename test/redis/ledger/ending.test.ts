/** A run cancelled while calls are in flight: no row is reported as cancelled while its change is pending. */
import { expect, it, onTestFinished, vi } from "vitest";
import type { PlatformClient } from "#api/client.ts";
import { PlatformError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { execute } from "#jobs/runs/work/execute.ts";
import { RunWatch } from "#jobs/runs/work/run-watch.ts";
import { readWhenEnded } from "#jobs/runs/results/sent-rows.ts";
import { retrySource } from "#jobs/runs/follow-up.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { runKeys } from "#jobs/runs/ledger/keys.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { selection } from "../events/run-events.ts";
import { begunAtMs, keptBounds, readResults, rowAs, submit, wavesOf } from "./run-of.ts";
import { workContext } from "./work-context.ts";

const { redis, keys } = openTestRedis();
const collaborators = { redis, keys, clock: systemClock, bounds: keptBounds };
const ledger = new Ledger(collaborators);
const operation = { operation: "test", status: 400 } as const;

/** A platform that keeps two callers waiting until it is asked to answer, and rejects all others at once. */
class SlowPlatform {
  readonly #waiting: (() => void)[] = [];

  get callsOut(): number {
    return this.#waiting.length;
  }

  answer(): void {
    for (const answer of this.#waiting.splice(0)) answer();
  }

  readonly client = {
    call: async (_: unknown, { key }: { key: string }): Promise<unknown> => {
      if (this.#waiting.length === 2) throw new PlatformError("PLATFORM_REJECTED", "no such SIM", operation);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
      return { simId: key, speedClass: "s1.fast" };
    },
  } as unknown as PlatformClient;
}

const resultsOf = (runId: string) => readResults(ledger, runId);

async function outcomes(runId: string): Promise<string[]> {
  return (await resultsOf(runId)).map(({ outcome }) => outcome);
}

it("a segment whose process died after its last row was settled is packed by the next one", async () => {
  const head = await submit(ledger, [[1, 1]]);
  await ledger.settle(head, 0, [rowAs("done", 0), rowAs("done", 1)], { calls: 2, throttled: 0 });
  expect(await ledger.state(head.runId)).toBe("completed");
  expect(await redis.exists(runKeys(keys).outcomes(head.runId, 0))).toBe(1);
  const context = workContext(collaborators, { account: () => Promise.reject(new Error("no call")) as never });
  const result = await execute({ runId: head.runId, segment: 0 }, context, new AbortController().signal);
  expect(result).toEqual({ kind: "parked" });
  expect(await redis.exists(runKeys(keys).outcomes(head.runId, 0))).toBe(0);
  expect(await ledger.finishedSegments(head.runId)).toEqual(new Set([0]));
  expect(await outcomes(head.runId)).toEqual(["done", "done"]);
});

/** A run of five rows that the third has aborted while the calls of the first two are in flight. */
async function setupAborted() {
  const { runId } = await submit(ledger, [[1, 1, 1, 1, 1]], { waves: wavesOf([5]) });
  const platform = new SlowPlatform();
  const account = { client: platform.client, wording: "sims", selection } as const;
  const context = workContext(collaborators, { account: () => account });
  const work = execute({ runId, segment: 0 }, context, new AbortController().signal);
  await until("the run is aborted", async () => (await ledger.state(runId)) === "aborted");
  onTestFinished(async () => {
    platform.answer();
    await work;
  });
  expect(platform.callsOut).toBe(2);
  return { runId, platform, context, work };
}

it("a run reports rows as pending until its calls in flight have ended", async () => {
  const { runId, platform, work } = await setupAborted();
  const ending = { isEnding: true, tally: { done: 0, rejected: 1, cancelled: 0, pending: 4 } };
  expect(await ledger.run(runId)).toMatchObject(ending);
  expect(await outcomes(runId)).toEqual(["pending", "pending", "rejected", "pending", "pending"]);
  // Longer than the watch's interval: it still reports its calls although the run is over.
  await systemClock.sleep(700);
  expect((await ledger.run(runId)).isEnding).toBe(true);
  const ended = readWhenEnded(runId, { ledger, clock: systemClock });
  platform.answer();
  expect(await work).toEqual({ kind: "parked" });
  expect(await ended).toMatchObject({ isEnding: false, tally: { done: 2, rejected: 1, cancelled: 2, pending: 0 } });
  expect(await outcomes(runId)).toEqual(["done", "done", "rejected", "cancelled", "cancelled"]);
});

it("a run cannot be retried while its calls are in flight", async () => {
  const { runId, context } = await setupAborted();
  const ending = await ledger.run(runId);
  expect(() => retrySource(ending, context, { outcomes: ["cancelled"] })).toThrow(/its calls are still in flight/);
});

it("a run that has ended starts no new work", async () => {
  const head = await submit(ledger, [[1]]);
  await ledger.move(head.runId, "cancelled", ["running"]);
  const watch = new RunWatch({ ledger });
  expect(await watch.enter(head.runId)).toBeUndefined();
  expect(await redis.exists(runKeys(keys).leases(head.runId))).toBe(0);
});

it("a cancelled row notes that a response to its call was lost", async () => {
  const head = await submit(ledger, [[1, 1]]);
  const tries = { attempts: 1, reason: "no answer", unknownSinceMs: begunAtMs };
  await ledger.recordTries(head.runId, 0, new Map([[0, tries]]));
  await ledger.move(head.runId, "cancelled", ["running"], { reason: "cancelled by a user" });
  expect((await resultsOf(head.runId)).map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ["cancelled", "cancelled by a user; a response was lost, so the change may have been made"],
    ["cancelled", "cancelled by a user"],
  ]);
});

it("after one refused write the segment ends, with no call that could not be written either", async () => {
  const { runId } = await submit(ledger, [Array.from({ length: 40 }, () => 1)]);
  const call = vi.fn(() => systemClock.sleep(40 * (call.mock.calls.length % 3)).then(() => ({ simId: "1" })));
  const account = { client: { call } as unknown as PlatformClient, wording: "sims", selection } as const;
  const failing = new Ledger(collaborators);
  vi.spyOn(failing, "settle").mockRejectedValueOnce(new Error("out of memory"));
  const context = workContext(collaborators, { account: () => account, ledger: failing });
  const work = () => execute({ runId, segment: 0 }, context, AbortSignal.timeout(60_000));
  await expect(work()).rejects.toThrow("out of memory");
  expect(call.mock.calls.length).toBeLessThan(10);
  expect((await work()).kind).toBe("finished");
});
