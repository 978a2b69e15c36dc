/** Syncs, to be killed: the inventory, the counts and the events are those of a sync that is not interrupted. */
import { expect } from "vitest";
import { isSyncOver } from "#jobs/inventory/store/sync-record.ts";
import type { TestRedis } from "../../support/redis.ts";
import { FleetHarness } from "../inventory/fleet-harness.ts";
import type { CrashCase, CrashSubject } from "./crashes.ts";

const sims = 60;

/** The fleet has been read once and has changed since: SIMs came, went, came back and were edited. */
async function changedFleet(place: TestRedis, seed: number): Promise<FleetHarness> {
  const options = { sims, seed, pageSize: 10, shortPages: 0.2, emptyPages: 0.1 };
  const fleet = await FleetHarness.open(place, options);
  const ids = Array.from({ length: sims }, (_, nth) => fleet.sandbox.state.sims.simIdAt(nth));
  const every = (count: number, first: number): string[] => ids.filter((_, nth) => nth % count === first);
  fleet.sandbox.fleet.remove(every(20, 7));
  await fleet.sync();
  fleet.sandbox.fleet.change({ restore: every(20, 7) });
  fleet.sandbox.fleet.remove(every(15, 3));
  fleet.sandbox.fleet.add(5);
  for (const id of every(9, 1)) fleet.sandbox.fleet.edit(id, { tags: { site: "moved" } });
  await fleet.begin();
  return fleet;
}

/** The result of a sync that is not interrupted, by seed. */
const wholeResults = new Map<number, Promise<unknown>>();

async function wholeResult(place: TestRedis, seed: number): Promise<unknown> {
  const fleet = await changedFleet(place, seed);
  await fleet.work();
  return fleet.result();
}

async function begun(place: TestRedis, seed: number): Promise<CrashSubject> {
  const whole = wholeResults.get(seed) ?? wholeResult(place, seed);
  wholeResults.set(seed, whole);
  await whole;
  const fleet = await changedFleet(place, seed);
  return {
    work: async (around) => void (await fleet.process(around).work()),
    state: async () => (await fleet.state()).phase,
    isOver: async () => isSyncOver(await fleet.state()),
    async checkEnd() {
      const result = await fleet.result();
      expect(result).toEqual(await whole);
      expect(await fleet.known()).toEqual(fleet.listed());
      return (await fleet.state()).phase;
    },
  };
}

export const syncCases = (place: TestRedis): readonly CrashCase[] => [
  {
    name: "a sync",
    begin: () => begun(place, 1),
    end: "finished",
    states: ["listing", "sweeping", "finished"],
  },
];
