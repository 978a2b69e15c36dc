/** `skipUnchanged` is checked again before the calls: what the inventory says by then counts, not what the plan saw. */
import { expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import type { RunHead } from "#jobs/runs/ledger/run-record.ts";
import { execute } from "#jobs/runs/work/execute.ts";
import { openTestRedis } from "../../support/redis.ts";
import { FleetHarness } from "../inventory/fleet-harness.ts";
import { keptBounds, readResults, submit } from "./run-of.ts";
import { workContext } from "./work-context.ts";

const { redis, keys } = openTestRedis();

/** A fleet of which the inventory has read that SIM 0 has the class s1.fast, and SIM 1 another. */
async function setup() {
  const fleet = await FleetHarness.open({ redis, keys }, { sims: 2 });
  const [fast = "", slow = ""] = [0, 1].map((n) => fleet.sandbox.state.sims.simIdAt(n));
  fleet.sandbox.fleet.edit(fast, { speedClass: "s1.fast" });
  fleet.sandbox.fleet.edit(slow, { speedClass: "s1.slow" });
  await fleet.sync();
  /** Starts a run that sets the class s1.fast for both. */
  const start = (more: Partial<RunHead>): Promise<RunHead> =>
    submit(fleet.ledger, [[1, 1]], { profile: fleet.profile, createdAtMs: systemClock.wallMs(), ...more }, (row) => ({
      ...row,
      key: row.index === 0 ? fast : slow,
    }));
  const workOff = async ({ runId }: RunHead): Promise<string[]> => {
    const context = workContext(
      { redis, keys, bounds: keptBounds, clock: systemClock },
      { account: () => fleet.account },
    );
    await execute({ runId, segment: 0 }, context, new AbortController().signal);
    const results = await readResults(fleet.ledger, runId);
    return results.map(({ outcome, reason }) => (reason === "" ? outcome : `${outcome}: ${reason}`));
  };
  return { start, workOff };
}

const skipUnchanged = { partial: false, skipUnchanged: true };
const skipped = "skipped: the SIM is already as requested, according to the inventory";

it("a row whose SIM became as requested after its plan makes no call", async () => {
  const { start, workOff } = await setup();
  expect(await workOff(await start({ options: skipUnchanged }))).toEqual([skipped, "done"]);
});

it("without the option both rows are sent", async () => {
  const { start, workOff } = await setup();
  expect(await workOff(await start({}))).toEqual(["done", "done"]);
});

it("what changed after the start is not left out, since a call of the run may have changed it", async () => {
  const { start, workOff } = await setup();
  const createdAtMs = systemClock.wallMs() - 60_000;
  expect(await workOff(await start({ options: skipUnchanged, createdAtMs }))).toEqual(["done", "done"]);
});
