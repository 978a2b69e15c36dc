/** SIMs that no sync has listed for long are removed from the inventory. */
import { describe, expect, it } from "vitest";
import { simChangeOf, setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { forgetGoneSims } from "#jobs/inventory/store/inventory.ts";
import { openTestRedis } from "../../support/redis.ts";
import { FleetHarness } from "../inventory/fleet-harness.ts";
import { keptBounds } from "../ledger/run-of.ts";

const place = openTestRedis();

/** A fleet of twelve SIMs, of which three are gone: the first, one in the middle, and the last. */
async function setup() {
  const fleet = await FleetHarness.open(place, { sims: 12 });
  await fleet.sync();
  const all = [...fleet.listed().keys()];
  const gone = [0, 5, 11].map((at) => all[at] ?? "");
  fleet.sandbox.fleet.remove(gone);
  await fleet.sync();
  const forget = (beforeMs: number): Promise<number> =>
    forgetGoneSims(
      fleet.profile,
      { beforeMs, keyColumn: "simId" },
      { ...place, bounds: keptBounds, inventory: fleet.inventory },
    );
  return { fleet, gone, forget };
}

describe("SIMs that are gone", () => {
  it("are removed from the inventory when they have been gone for long enough", async () => {
    const { fleet, gone, forget } = await setup();
    expect(await forget(Date.now() - 60_000)).toBe(0);
    expect([...(await fleet.known("gone")).keys()]).toEqual(gone);
    expect(await forget(Date.now() + 60_000)).toBe(3);
    expect(await fleet.known("all")).toEqual(fleet.listed());
    expect(await fleet.inventory.facts(fleet.profile)).toMatchObject({ known: 9, gone: 0 });
  });

  it("count as added when they are listed again after their removal", async () => {
    const { fleet, gone, forget } = await setup();
    await forget(Date.now() + 60_000);
    fleet.sandbox.fleet.change({ restore: gone });
    expect((await fleet.sync()).state).toMatchObject({ phase: "finished", added: 3, returned: 0, gone: 0 });
    expect(await fleet.known("all")).toEqual(fleet.listed());
    expect((await fleet.sync()).state).toMatchObject({ phase: "finished", added: 0, changed: 0, gone: 0 });
  });

  it("stay while a run is about to change them", async () => {
    const { fleet, gone, forget } = await setup();
    const lock = simChangeOf(setSpeedClass, [["speedClass", "s1.fast"]]);
    await fleet.ledger.lock({ runId: "r-1", profile: fleet.profile }, new Map([[gone[1] ?? "", lock]]));
    expect(await forget(Date.now() + 60_000)).toBe(2);
    expect([...(await fleet.known("gone")).keys()]).toEqual([gone[1]]);
  });
});
