/**
 * The SIMs of a page in the same order as last time are marked as seen together: the stored result and the events must
 * not depend on it.
 */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import { everySim } from "#fleet/filter.ts";
import { textOf } from "#fleet/sim/sim-fields.ts";
import type { SyncState } from "#jobs/inventory/store/sync-record.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { storesOn } from "./sync-harness.ts";

const { redis, keys } = openTestRedis();
const { inventory, syncs } = storesOn({ redis, keys });
const feed = new Feed({ redis, keys, bounds: keptBounds, clock: systemClock });

/** A SIM and its class. */
type Listed = readonly [key: string, speedClass: string];

class Fleet {
  readonly profile = `p-${randomBytes(4).toString("hex")}`;
  #syncs = 0;

  async sync(list: readonly Listed[], pageOf: number): Promise<SyncState> {
    this.#syncs += 1;
    const { profile } = this;
    const { syncId } = await syncs.begin(profile, `s-${this.#syncs}`, "resume");
    const pages = Math.max(1, Math.ceil(list.length / pageOf));
    for (let pagesBefore = 0; pagesBefore < pages; pagesBefore += 1) {
      const some = list.slice(pagesBefore * pageOf, (pagesBefore + 1) * pageOf);
      const sims = {
        keys: some.map(([key]) => key),
        linesOf: (place: number): string => `speedClass=${some[place]?.[1]}`,
      };
      const nextKey = pagesBefore + 1 < pages ? "more" : undefined;
      await syncs.takePage(profile, { syncId, pagesBefore, sims, nextKey, asOfMs: 0, quiet: [] });
    }
    await syncs.sweep(profile, await this.#state(), ["speedClass"]);
    return this.#state();
  }

  async known(presence: "listed" | "gone"): Promise<Map<string, string | undefined>> {
    const known = new Map<string, string | undefined>();
    for await (const found of inventory.scan(this.profile, everySim, { presence, keyColumn: "simId" })) {
      for (const { key, sim } of found) {
        const value = sim.fields.get("speedClass");
        known.set(key, value && textOf(value));
      }
    }
    return known;
  }

  async changes(): Promise<string[]> {
    const { events } = await feed.newest({ profile: this.profile }, { limit: 100_000 });
    const cause = `s-${this.#syncs}`;
    const own = events.filter(({ type, fields }) => type.startsWith("sim.") && fields.cause === cause);
    return own
      .map(({ type, fields }) => `${type} ${fields.sim} ${fields.before ?? ""} ${fields.after ?? ""}`)
      .toSorted();
  }

  async #state(): Promise<SyncState> {
    const state = await syncs.state(this.profile);
    if (state === undefined) throw new Error("no sync was begun");
    return state;
  }
}

/** The SIMs after each list: all that were ever listed with their last classes, and those that are gone. */
class Model {
  readonly known = new Map<string, string>();
  readonly gone = new Set<string>();

  /** Takes the next list. @returns what has changed */
  take(list: ReadonlyMap<string, string>): string[] {
    const changes = changesBetween(this.known, this.gone, list);
    for (const name of this.known.keys()) if (!list.has(name)) this.gone.add(name);
    for (const [name, speedClass] of list) {
      this.known.set(name, speedClass);
      this.gone.delete(name);
    }
    return changes;
  }
}

function changesBetween(before: Map<string, string>, gone: Set<string>, after: ReadonlyMap<string, string>): string[] {
  const changes: string[] = [];
  for (const [key, speedClass] of after) {
    const was = before.get(key);
    if (was === undefined) changes.push(`sim.added ${key}  `);
    if (gone.has(key)) changes.push(`sim.returned ${key}  `);
    if (was !== undefined && was !== speedClass) changes.push(`sim.changed ${key} ${was} ${speedClass}`);
  }
  for (const key of before.keys()) if (!after.has(key) && !gone.has(key)) changes.push(`sim.gone ${key}  `);
  return changes.toSorted();
}

// Keys of several lengths, of which some end in others.
const key = fc.constantFrom(..."1 11 111 21 211 A1 A 2 22 B B1 BB1 C D1 E".split(" "));
const listing = fc.record({
  list: fc.uniqueArray(fc.tuple(key, fc.constantFrom("a", "b")), { selector: ([name]) => name }),
  pageOf: fc.integer({ min: 1, max: 8 }),
});

it("a sync stores the same result and events for any additions, removals, changes, and moves in the list", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(listing, { minLength: 2, maxLength: 5 }), async (listings) => {
      const [fleet, model] = [new Fleet(), new Model()];
      for (const [nth, { list, pageOf }] of listings.entries()) {
        const changes = model.take(new Map(list));
        expect(await fleet.sync(list, pageOf)).toMatchObject({ phase: "finished", sims: list.length });
        if (nth > 0) expect(await fleet.changes()).toEqual(changes);
        expect(await fleet.known("listed")).toEqual(new Map(list));
        expect(new Set((await fleet.known("gone")).keys())).toEqual(model.gone);
      }
    }),
    { numRuns: 40 },
  );
}, 600_000);

it("a page that lists a SIM twice counts it once as new", async () => {
  const fleet = new Fleet();
  const list: Listed[] = [
    ["1", "a"],
    ["2", "a"],
    ["1", "a"],
  ];
  expect(await fleet.sync(list, 3)).toMatchObject({ sims: 3, added: 2, changed: 0 });
  expect(await fleet.sync(list, 3)).toMatchObject({ sims: 3, added: 0, changed: 0, gone: 0 });
});

describe("a sync across chunks and pages", () => {
  // At both sides of where chunks and pages meet, one left out, and the rest of the list moved by it.
  const changed = [0, 999, 1_000, 4_095, 4_096, 8_191, 8_192, 8_999].map((n) => String(10_000 + n));
  const list = Array.from({ length: 9_000 }, (_, n): Listed => [String(10_000 + n), "a"]);
  const other = list
    .filter(([name]) => name !== "14090")
    .map(([name]): Listed => [name, changed.includes(name) ? "b" : "a"]);

  it("counts the SIMs that have changed, wherever they are", async () => {
    const fleet = new Fleet();
    expect(await fleet.sync(list, 1_000)).toMatchObject({ sims: 9_000, added: 9_000, gone: 0 });
    expect(await fleet.sync(list, 1_000)).toMatchObject({ sims: 9_000, added: 0, changed: 0, gone: 0 });
    const state = await fleet.sync([...other, ["99999", "a"]], 1_000);
    expect(state).toMatchObject({ sims: 9_000, added: 1, changed: changed.length, gone: 1 });
  });

  it("stores and indexes their new values, also in another order and other pages", async () => {
    const fleet = new Fleet();
    for (const listed of [list, list, [...other, ["99999", "a"] as const]]) await fleet.sync(listed, 1_000);
    expect(await fleet.sync(other.toReversed(), 700)).toMatchObject({ sims: 8_999, changed: 0, gone: 1, returned: 0 });
    const known = await fleet.known("listed");
    expect(known.size).toBe(8_999);
    expect([...known].filter(([, speedClass]) => speedClass === "b").map(([name]) => name)).toEqual(changed);
    const found: string[] = [];
    const filter = { text: "", expression: { kind: "=" as const, field: "speedClass", values: ["b"] } };
    for await (const some of inventory.scan(fleet.profile, filter, { keyColumn: "simId" })) {
      found.push(...some.map(({ key: name }) => name));
    }
    expect(found).toEqual(changed);
  });
});
