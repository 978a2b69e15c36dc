/** Which profiles share an inventory, and what becomes of inventories that no profile has anymore. */
import { expect, test } from "vitest";
import { inventoryHead, inventoryOf, noteFleet, readSharing } from "#engine/sharing.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { SyncLog } from "#jobs/inventory/store/sync-record.ts";
import { removeUnusedInventories } from "#jobs/storage/service.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
import { keptBounds } from "../ledger/run-of.ts";

const place = openTestRedis();
const { redis } = place;
const [a, b] = ["OP1@host.g.sims", "OP2@host.g.sims"];

function setup(names: readonly string[], chosen?: string) {
  const stores = { redis, keys: keysWithin(place.keys), bounds: keptBounds };
  const deps = { ...stores, store: new Inventory(stores), syncs: new SyncLog(stores) };
  const settings = {
    profiles: Object.fromEntries(names.map((name) => [name, {}])),
    inventory: chosen === undefined ? {} : { profile: chosen },
  };
  return {
    ...deps,
    deps,
    head: (name: string) => inventoryHead(deps.keys, name),
    note: (profile: string, fleet: string, isRoot = false) => noteFleet(deps, { profile, fleet, isRoot }, settings),
    nameOf: (profile: string) => inventoryOf(deps, profile),
    seers: async (profile: string) => (await readSharing(deps)).seers(profile, settings),
  };
}

test("a profile with credentials of another operator leaves the inventory to the others", async () => {
  const { note, nameOf, head, deps } = setup(["one", "two"]);
  for (const profile of ["one", "two"]) await note(profile, a);
  await note("one", b);
  expect(await Promise.all(["one", "two"].map(nameOf))).toEqual(["one~", "one"]);
  for (const name of ["one", "one~"]) await redis.hset(head(name), "known", 1);
  await removeUnusedInventories(["one", "two"], deps);
  expect(await redis.exists(head("one"), head("one~"))).toBe(2);
  await note("two", b);
  await removeUnusedInventories(["one", "two"], deps);
  expect(await redis.exists(head("one"))).toBe(0);
  expect(await Promise.all(["one", "two"].map(nameOf))).toEqual(["one~", "one~"]);
});

test("the inventory of a removed profile stays while others have it, and a new profile of its name has another", async () => {
  const { note, nameOf, head, keys, deps } = setup(["one", "two"]);
  for (const profile of ["one", "two"]) await note(profile, a);
  await redis.hset(head("one"), "known", 1);
  await redis.hdel(keys.of("inventories"), "one");
  await removeUnusedInventories(["two"], deps);
  expect(await redis.exists(head("one"))).toBe(1);
  expect(await Promise.all(["one", "two"].map(nameOf))).toEqual(["one~", "one"]);
});
