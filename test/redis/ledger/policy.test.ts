/** The limits on a run's size apply to the rows that were written, whether a plan is started later or at once. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RunPolicy } from "#jobs/runs/submit.ts";
import { openTestRedis } from "../../support/redis.ts";
import { runServiceOn } from "./run-service.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const { redis, keys } = openTestRedis();

/** A planned run of nine rows that make a call. */
async function setup(policy: Partial<RunPolicy>, maxFailures?: { percent: number }) {
  const path = join(temporaryFolder(), "nine.csv");
  await writeFile(path, `simId,speedClass\n${Array.from({ length: 9 }, (_, n) => `A${n},s1.fast\n`).join("")}`);
  const { runs, ledger } = runServiceOn({ redis, keys }, { policy });
  const options = { partial: false, skipUnchanged: true, ...(maxFailures === undefined ? {} : { maxFailures }) };
  return { runs, ledger, planned: await runs.draft({ path }, { profile: "default", set: {}, options }) };
}

async function runsAndDrafts(): Promise<string[]> {
  return (await redis.keys(`${keys.prefix}:*`)).filter((key) => /:(run|runs|draft)(:|$)/.test(key)).toSorted();
}

it("a plan that is there stays when a slower request keeps another under its id", async () => {
  const { runs, planned } = await setup({});
  const { planned: slower } = await setup({}, { percent: 50 });
  const under = { planId: "r-slow", by: "cli:anna" };
  await runs.plans.keep(planned, under);
  const first = await runs.plans.show("r-slow");
  expect(await runs.plans.keep({ ...slower, report: { ...slower.report, calls: 1 } }, under)).toEqual(first);
  expect(await runs.plans.show("r-slow")).toEqual(first);
  expect((await runsAndDrafts()).filter((key) => key.includes(":draft:"))).toEqual([]);
});

// Shows S18.
describe("policies for a run with more calls than they allow", () => {
  it("a run of nine calls is refused by a limit of three and leaves nothing behind", async () => {
    const before = await runsAndDrafts();
    const { runs, planned } = await setup({ maxChanges: 3 });
    await expect(runs.submit(planned, { by: "cli:anna" })).rejects.toThrow(
      "The run has 9 changes, more than the limit of 3",
    );
    expect(await runsAndDrafts()).toEqual(before);
  });

  it("a plan of nine calls is not started beyond a limit of three, and can be deleted", async () => {
    const before = await runsAndDrafts();
    const { runs, planned } = await setup({ maxChanges: 3 });
    await runs.plans.keep(planned, { planId: "r-nine", by: "cli:anna" });
    await expect(runs.start("r-nine", { by: "cli:anna", options: {} })).rejects.toThrow("more than the limit of 3");
    await runs.plans.remove("r-nine");
    expect(await runsAndDrafts()).toEqual(before);
  });

  it("a run of nine calls waits for approval above three", async () => {
    const { runs, planned } = await setup({ approvalAbove: 3 });
    expect(await runs.submit(planned, { by: "cli:anna" })).toMatchObject({ state: "awaiting-approval" });
  });

  it("a run of nine calls bases its failure limit on nine rows", async () => {
    const { runs, ledger, planned } = await setup({}, { percent: 50 });
    const { runId } = await runs.submit(planned, { by: "cli:anna" });
    expect((await ledger.run(runId)).maxFailures).toBe(4);
  });
});
