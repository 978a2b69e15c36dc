/** Removal of old data where a clock is wrong: what seems old may be minutes old. */
import { expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import { SyncLog } from "#jobs/inventory/store/sync-record.ts";
import { storageService } from "#jobs/storage/service.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { kernelOf } from "./storage-harness.ts";

const place = openTestRedis();
const dayMs = 86_400_000;

/** Storage of a process whose clock, or Redis's, is ahead. */
function setup({ processDays = 0, lastSweepDays = 0 }) {
  const nowMs = (): number => systemClock.wallMs();
  const clock = { ...systemClock, wallMs: () => nowMs() + processDays * dayMs };
  const kernel = kernelOf({ ...place, bounds: keptBounds, clock });
  const storage = storageService({ ...kernel, feed: new Feed(kernel), syncs: new SyncLog(kernel) });
  const all = { sweep: () => Promise.resolve({ counts: {}, problems: [] }) };
  const sweepOnce = async () => {
    await place.redis.del(place.keys.of("storage", "swept"));
    return storage.sweepIfDue(all, new AbortController().signal);
  };
  return {
    sweepOnce,
    begin: () => place.redis.set(place.keys.of("storage", "swept-at"), nowMs() + lastSweepDays * dayMs),
  };
}

it("nothing is removed by a process whose clock is ahead of Redis's", async () => {
  const { sweepOnce, begin } = setup({ processDays: 40 });
  await begin();
  await expect(sweepOnce()).rejects.toThrow(/by Redis's clock and .* by this machine's/);
  await expect(sweepOnce()).rejects.toThrow(/set the wrong one/);
});

it.each([40, -40])("nothing is removed once when the last removal was %i days from now", async (lastSweepDays) => {
  const { sweepOnce, begin } = setup({ lastSweepDays });
  await begin();
  await expect(sweepOnce()).rejects.toThrow(/the last removal was at/);
  expect(await sweepOnce()).toMatchObject({ problems: [] });
});
