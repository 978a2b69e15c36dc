/** Data of profiles that are no longer configured. */
import { expect, it } from "vitest";
import { features } from "#features.ts";
import { rotationLog } from "#jobs/credentials/record.ts";
import { simsPerChunk } from "#jobs/inventory/store/inventory.ts";
import { SyncLog } from "#jobs/inventory/store/sync-record.ts";
import { formerProfiles, noteProfiles } from "#jobs/storage/service.ts";
import type { Keys } from "#redis/keys.ts";
import { inventoryKeys } from "#jobs/inventory/store/keys.ts";
import { begunAtMs, keptBounds } from "../ledger/run-of.ts";
import { openTestRedis } from "../../support/redis.ts";
import { storageHarness } from "./storage-harness.ts";

const place = openTestRedis();
const { redis } = place;
const dayMs = 86_400_000;

/** Begins a rotation of a profile, and moves it to a state. */
async function rotate(profile: string, state: "done" | "planned", { keys }: { keys: Keys }): Promise<void> {
  const log = rotationLog({ redis, keys, bounds: keptBounds });
  const head = { name: "mqtt", profile, rotationId: "c-1", newId: "mqtt-2", startedAtMs: begunAtMs };
  const record = await log.begin({ ...head, strategy: "successor", type: "psk" });
  await log.move(record, { state });
}

/** A profile with SIMs in two chunks, a sync that has ended, and a rotation in a state. */
async function setup(state: "done" | "planned" = "done") {
  const harness = storageHarness(place);
  const { keys } = harness;
  const own = inventoryKeys(keys);
  const profile = "plant";
  await redis.hset(own.head(profile), "next", simsPerChunk + 1, "known", simsPerChunk + 1);
  await redis.hset(own.records(profile), "sim-1", "record");
  for (const chunk of [0, 1]) await redis.set(own.keyOrder(profile, chunk), "keys");
  await redis.hset(keys.quotaOwners(), profile, "OP1@host", "other", "OP1@host");
  await redis.hset(keys.of("inventories"), profile, "OP1@host.g.sims root", "OP1@host.g.sims", profile);
  await redis.hset(own.index(profile), "status=active", 1);
  for (const bitmap of ["listed", 1]) await redis.setbit(`${own.bitmaps(profile)}${bitmap}`, 0, 1);
  await redis.hset(own.sync(profile), "syncId", "s-1", "phase", "finished", "startedAtMs", begunAtMs);
  await rotate(profile, state, harness);
  for (const word of features.flatMap(({ profileData = [] }) => profileData))
    await redis.set(keys.of(word, profile, "a"), "");
  const note = (): Promise<void> => noteProfiles([profile], begunAtMs, { redis, keys });
  const keysLeft = async (): Promise<string[]> => {
    const found = await redis.keys(`${keys.prefix}:*`);
    return found.filter((key) => /plant|mqtt|profiles/.test(key));
  };
  const syncs = new SyncLog({ redis, keys, bounds: keptBounds });
  return { harness, keys, syncs, profile, note, keysLeft };
}

it("all that is kept of a profile is removed when no worker has had it for long enough", async () => {
  const { harness, note, keysLeft, keys, syncs } = await setup();
  await note();
  harness.pass(89);
  expect(await harness.sweep()).toMatchObject({ profiles: 0 });
  expect(await formerProfiles(["default"], { redis, keys, syncs })).toEqual([{ profile: "plant", sinceMs: begunAtMs }]);
  harness.pass(2);
  expect(await harness.sweep()).toMatchObject({ profiles: 1, problems: [] });
  expect(await keysLeft()).toEqual([]);
  expect(await redis.hkeys(keys.quotaOwners())).toEqual(["other"]);
  expect(await redis.exists(keys.of("inventories"))).toBe(0);
});

it("a profile that another worker has is kept", async () => {
  const { harness, keys, note, keysLeft } = await setup();
  await note();
  await noteProfiles(["plant"], begunAtMs + 60 * dayMs, { redis, keys });
  harness.pass(91);
  expect(await harness.sweep()).toMatchObject({ profiles: 0 });
  expect(await keysLeft()).not.toEqual([]);
});

it("a profile that only commands sync is kept", async () => {
  const { harness, keys, note } = await setup();
  await note();
  await redis.hset(inventoryKeys(keys).sync("plant"), "startedAtMs", begunAtMs + 60 * dayMs);
  harness.pass(91);
  expect(await harness.sweep()).toMatchObject({ profiles: 0 });
});

it("a profile with a rotation in progress is kept", async () => {
  const { harness, note } = await setup("planned");
  await note();
  harness.pass(91);
  expect(await harness.sweep()).toMatchObject({ profiles: 0 });
});

it("the record of a rotation that has ended is removed after its days, unless the rotation is configured", async () => {
  const harness = storageHarness(place);
  await rotate("default", "done", harness);
  harness.pass(2 * 366);
  expect(await harness.sweep({}, redis, { mqtt: {} })).toMatchObject({ rotations: 0 });
  expect(await harness.sweep()).toMatchObject({ rotations: 1 });
});
