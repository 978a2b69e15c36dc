/** The limits on a run's size apply to the rows that were written, whatever the plan had counted before. */
import { describe, expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import type { RunQueues } from "#jobs/runs/work/queue.ts";
import { inBatches } from "#jobs/runs/plan/row-source.ts";
import { submitRun } from "#jobs/runs/submit.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds, memory, noPolicy, runOf, sealInputs } from "./run-of.ts";

const { redis, keys } = openTestRedis();
const ledger = new Ledger({ redis, keys, clock: systemClock, bounds: keptBounds });
const queues = { enqueue: () => Promise.resolve() } as unknown as RunQueues;

/** Submits nine rows that make a call, of which the plan had counted three: a sync came between the two. */
function submitNine(policy: { maxChanges?: number; approvalAbove?: number }, more: { maxFailures?: 50 } = {}) {
  const { head, segments } = runOf([[1, 1, 1, 1, 1, 1, 1, 1, 1]]);
  const { profile, bucket, header, source, sha256 } = head;
  const percent = more.maxFailures;
  const options = {
    partial: false,
    skipUnchanged: true,
    ...(percent === undefined ? {} : { maxFailures: { percent } }),
  };
  return submitRun(
    {
      name: "nine",
      profile,
      bucket,
      options,
      header,
      source,
      sha256,
      rows: inBatches(segments.flat()),
      by: "cli:anna",
      total: 9,
      calls: 3,
      operations: head.operations,
    },
    {
      ledger,
      queues,
      clock: systemClock,
      policy: {
        ...noPolicy,
        ...policy,
      },
      sealInputs,
      memory,
    },
  );
}

async function runsAndDrafts(): Promise<string[]> {
  return (await redis.keys(`${keys.prefix}:*`)).filter((key) => /:(run|runs|draft)(:|$)/.test(key));
}

// Shows S18.
describe("policies for a run with more calls than planned", () => {
  it("a run of nine calls planned as three is refused by a limit of three and leaves nothing behind", async () => {
    const before = await runsAndDrafts();
    await expect(submitNine({ maxChanges: 3 })).rejects.toThrow("The run has 9 changes, more than the limit of 3");
    expect(await runsAndDrafts()).toEqual(before);
  });

  it("a run of nine calls planned as three waits for approval that three calls would not need", async () => {
    const { runId } = await submitNine({ approvalAbove: 3 });
    expect(await ledger.state(runId)).toBe("awaiting-approval");
  });

  it("a run of nine calls planned as three bases its failure limit on nine rows", async () => {
    expect((await submitNine({}, { maxFailures: 50 })).maxFailures).toBe(4);
  });
});
