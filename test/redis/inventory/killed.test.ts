/** kill -9 at any moment of a sync: the next process resumes it, and the result is the same as without a kill. */
import { expect, it } from "vitest";
import { seededRandom } from "#sandbox/seeded.ts";
import { forEachSeed, seeds } from "../../support/long.ts";
import { openTestRedis, redisUrl } from "../../support/redis.ts";
import { kill, startScript } from "../../support/script.ts";
import { until } from "../../support/until.ts";
import { FleetHarness } from "./fleet-harness.ts";

const { redis, keys } = openTestRedis();
const script = new URL("./sync-process.ts", import.meta.url);
const kills = seeds(4, 50);
const sims = 400;

/** The fleet has been read once and has changed since: SIMs came, went, came back and were edited. */
async function setup(seed: number): Promise<FleetHarness> {
  const fleet = await FleetHarness.open(
    { redis, keys },
    { sims, seed, pageSize: 10, latencyMs: 4, shortPages: 0.2, emptyPages: 0.1 },
  );
  const ids = Array.from({ length: sims }, (_, place) => fleet.sandbox.state.sims.simIdAt(place));
  fleet.sandbox.fleet.remove(ids.filter((_, place) => place % 50 === 7));
  await fleet.sync();
  fleet.sandbox.fleet.change({ restore: ids.filter((_, place) => place % 50 === 7) });
  fleet.sandbox.fleet.remove(ids.filter((_, place) => place % 40 === 3));
  fleet.sandbox.fleet.add(12);
  for (const id of ids.filter((_, place) => place % 9 === 1)) fleet.sandbox.fleet.edit(id, { tags: { site: "moved" } });
  await fleet.begin();
  return fleet;
}

/** Kills a process somewhere between its first call and its end: between pages, within a call, or while it writes. */
async function killAtWork(fleet: FleetHarness, random: () => number): Promise<void> {
  const atPage = fleet.listCalls + 1 + Math.floor(random() * 40);
  const child = await startScript(script, [redisUrl(), keys.prefix, fleet.sandbox.url, fleet.profile]);
  await until("the page is asked for", () => fleet.listCalls >= atPage || child.exitCode !== null);
  await new Promise((resolve) => setTimeout(resolve, random() * 8));
  await kill(child);
}

it(`a sync produces the same result after each of ${kills} kills by seed as without a kill`, async () => {
  let killedUnderWay = 0;
  await forEachSeed(kills, 2, async (seed) => {
    const [killed, whole] = [await setup(seed), await setup(seed)];
    await whole.work();
    await killAtWork(killed, seededRandom(seed));
    const { phase, pages } = await killed.state();
    if (phase === "listing" && pages > 0) killedUnderWay += 1;
    await killed.work();
    expect(await killed.result()).toEqual(await whole.result());
    expect(await killed.known()).toEqual(killed.listed());
  });
  console.log(`${killedUnderWay} of ${kills} syncs were killed between their first and their last page`);
  expect(killedUnderWay).toBeGreaterThan(kills / 2);
}, 600_000);
