/** A filter selects the same SIMs whether an index answers it or every record is read. */
import { randomBytes } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { systemClock } from "#core/time.ts";
import { type Filter, everySim, matches, parseFilter } from "#fleet/filter.ts";
import { pickFields, textOf } from "#fleet/sim/sim-fields.ts";
import { countSims, maxSorted, orderOf, sortedPage } from "#jobs/inventory/sims.ts";
import { KnownSim, encodeRecord } from "#jobs/inventory/records/sim-record.ts";
import { inventoryKeys } from "#jobs/inventory/store/keys.ts";
import { openTestRedis } from "../../support/redis.ts";
import { storesOn } from "./sync-harness.ts";

const { redis, keys } = openTestRedis();
const { inventory, syncs } = storesOn({ redis, keys });
const fields = ["speedClass", "status", "groupId", "tags", "online", "deep.er", "imsi"];
const selection = { fields, secrets: new Set<string>(), places: {} };

/** A fleet of its own with these records. */
async function setup(records: readonly Record<string, unknown>[]) {
  const profile = `p-${randomBytes(4).toString("hex")}`;
  return { profile, sims: await syncRecords(profile, records) };
}

async function syncRecords(profile: string, records: readonly Record<string, unknown>[]): Promise<string[]> {
  const { syncId } = await syncs.begin(profile, "s-1", "restart");
  const all = records.map((_, n) => `8942300000${n}`);
  const linesOf = (place: number): string => encodeRecord(records[place] ?? {}, selection);
  const page = { syncId, pagesBefore: 0, sims: { keys: all, linesOf }, nextKey: undefined, asOfMs: 0, quiet: [] };
  await syncs.takePage(profile, page);
  return all;
}

async function found(profile: string, filter: Filter): Promise<string[]> {
  const all: string[] = [];
  for await (const batch of inventory.scan(profile, filter, { keyColumn: "simId" }))
    all.push(...batch.map(({ key }) => key));
  return all;
}

/** The SIMs of which a full comparison says that they match. */
function compared(sims: readonly string[], records: readonly Record<string, unknown>[], filter: Filter): string[] {
  return sims.filter((key, n) => {
    const kept = pickFields(records[n] ?? {}, selection).fields;
    return matches(
      filter,
      (name) => {
        if (name === "simId") return key;
        const own = kept.get(name);
        if (own !== undefined) return textOf(own);
        return [...kept.keys()].some((inner) => inner.startsWith(`${name}.`)) ? "{}" : undefined;
      },
      0,
    );
  });
}

/** The keys of the SIMs with this status in this order, page by page. */
async function listed(profile: string, status: string, sort: string, limit: number): Promise<string[]> {
  const choice = { profile, ...selected(parseFilter(`status=${status}`)) };
  const all: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await sortedPage(inventory, choice, { order: orderOf(sort), limit, cursor });
    all.push(...page.found.map(({ key }) => key));
    cursor = page.nextCursor;
  }
  return all;
}

async function counted(profile: string, filter: Filter, search?: string): Promise<number> {
  const limits = { clock: systemClock, limitMs: 60_000 };
  const { count, isExact } = await countSims(inventory, { profile, ...selected(filter, search) }, limits);
  expect(isExact).toBe(true);
  return count;
}

/** The bitmaps of a field's values, and `dropped` if it has had too many. */
async function indexOf(profile: string, name: string): Promise<string[]> {
  const items = Object.keys(await redis.hgetall(inventoryKeys(keys).index(profile)));
  return items.flatMap((item) => {
    if (item === name) return ["dropped"];
    return item.startsWith(`${name}=`) ? [item.slice(name.length + 1)] : [];
  });
}

describe("a field with more than 64 values", () => {
  const records = Array.from({ length: 300 }, (_, n) => ({
    status: n % 64 === 5 ? "ready" : "active",
    speedClass: `s1.${n % 64}`,
    tags: n % 100 === 77 ? { site: "oslo" } : { asset: `asset-${n}`, site: "oslo" },
  }));

  it("loses its bitmaps", async () => {
    const { profile } = await setup(records);
    expect(await indexOf(profile, "speedClass")).toHaveLength(64);
    expect(await indexOf(profile, "tags.asset")).toEqual(["dropped"]);
    const bitmaps = await redis.keys(`${inventoryKeys(keys).bitmaps(profile)}*`);
    // Those of the classes, of two states, of the site, of tags as an object, and of the SIMs that are listed.
    expect(bitmaps).toHaveLength(64 + 2 + 1 + 1 + 1);
  });

  it.each([
    ["speedClass!=s1.3 and status=ready", "not read"],
    ["tags.site=oslo and tags exists", "not read"],
    ["tags.asset not exists", "read"],
    ["tags.asset=asset-290", "read"],
    ["tags.asset!=asset-290 and speedClass=s1.34", "read"],
  ])("is the only one for whose filters records are read: with %s, they are %s", async (text, how) => {
    const { profile, sims } = await setup(records);
    const filter = parseFilter(text);
    const meant = compared(sims, records, filter);
    using read = vi.spyOn(inventory, "read");
    expect(await counted(profile, filter)).toBe(meant.length);
    expect(read.mock.calls.length > 0, text).toBe(how === "read");
    expect(await found(profile, filter)).toEqual(meant);
  });
});

it("a field stays indexed while it has at most 64 values at a time, however often they change", async () => {
  const { profile } = await setup([]);
  for (let sync = 0; sync < 5; sync += 1) {
    const records = Array.from({ length: 60 }, (_, n) => ({ status: `${sync}-${n}` }));
    const sims = await syncRecords(profile, records);
    expect(await found(profile, parseFilter(`status=${sync}-7`))).toEqual([sims[7]]);
    expect((await indexOf(profile, "status")).length).toBeLessThanOrEqual(64);
  }
  expect(await indexOf(profile, "status")).not.toContain("dropped");
});

it("fields beyond the room of the index are filtered by their records", async () => {
  const records = Array.from({ length: 100 }, (_, n) => ({ tags: { [`t${n}`]: "on" } }));
  const { profile, sims } = await setup(records);
  for (let n = 0; n < 100; n += 9) {
    expect(await found(profile, parseFilter(`tags.t${n}=on`))).toEqual([sims[n]]);
    expect(await counted(profile, parseFilter(`tags.t${n} not exists`))).toBe(99);
  }
  expect((await redis.keys(`${inventoryKeys(keys).bitmaps(profile)}*`)).length).toBeLessThan(70);
});

describe("a list of selected SIMs", () => {
  const classes = ["s1.fast", "s1.slow", "s1.standard"];
  const records = Array.from({ length: 40 }, (_, n) => ({
    ...(n % 4 === 3 ? {} : { speedClass: classes[n % 3] }),
    status: n < 30 ? "active" : "ready",
  }));
  const active = Array.from({ length: 30 }, (_, n) => n);
  const placesOf = (speedClass: string | undefined) => active.filter((n) => records[n]?.speedClass === speedClass);

  it("has each once in the order of a field, page by page, those without a value last", async () => {
    const { profile, sims } = await setup(records);
    const ascending = [...classes, undefined].flatMap(placesOf);
    expect(await listed(profile, "active", "speedClass", 7)).toEqual(ascending.map((n) => sims[n]));
    const descending = [...classes.toReversed(), undefined].flatMap(placesOf);
    expect(await listed(profile, "active", "-speedClass", 7)).toEqual(descending.map((n) => sims[n]));
  });

  it("has each once in the order of their keys, page by page", async () => {
    const { profile, sims } = await setup(records);
    const keysOfActive = active.map((n) => sims[n] ?? "");
    expect(await listed(profile, "active", "-simId", 7)).toEqual(keysOfActive.toSorted().toReversed());
  });
});

it("a short list is sorted by any field, or by a time of the record", async () => {
  const names = ["pear", "apple", undefined, "fig", "date", "cherry", "apple"];
  const { profile, sims } = await setup(
    names.map((name, n) => ({ status: n < 6 ? "active" : "ready", ...(name === undefined ? {} : { imsi: name }) })),
  );
  const by = (sort: string): Promise<string[]> => listed(profile, "active", sort, 3);
  expect(await by("imsi")).toEqual([1, 5, 4, 3, 0, 2].map((n) => sims[n]));
  expect(await by("-imsi")).toEqual([0, 3, 4, 5, 1, 2].map((n) => sims[n]));
  expect(await by("addedAt")).toEqual([0, 1, 2, 3, 4, 5].map((n) => sims[n]));
});

it("a list of more SIMs than can be sorted by another field than the key names what to do", async () => {
  const many = vi.spyOn(inventory, "scan").mockImplementation(async function* () {
    const sim = new KnownSim("0 sync 0 0 -\n");
    yield await Promise.resolve(Array.from({ length: maxSorted + 1 }, (_, n) => ({ key: String(n), sim })));
  });
  const page = { order: orderOf("imsi"), limit: 3 };
  await expect(sortedPage(inventory, { profile: "sorted", ...selected(everySim) }, page)).rejects.toThrow(
    "More than 10,000 SIMs match, so they cannot be sorted by imsi: narrow the filter, or sort by simId",
  );
  many.mockRestore();
});

it("a search finds SIMs by a part of the SIM ID, or by the whole IMSI", async () => {
  const imsiOf = (n: number): string => `44010000000${1_000 + n}`;
  const records = Array.from({ length: 30 }, (_, n) => ({ status: "active", tags: { n: String(n) }, imsi: imsiOf(n) }));
  const { profile, sims } = await setup(records);
  const search = async (text: string): Promise<string[]> => {
    const all: string[] = [];
    const options = { keyColumn: "simId", search: text } as const;
    for await (const batch of inventory.scan(profile, everySim, options)) all.push(...batch.map(({ key }) => key));
    expect(await counted(profile, everySim, text)).toBe(all.length);
    return all;
  };
  expect(await search("000002")).toEqual(sims.filter((_, n) => n === 2 || n >= 20));
  expect(await search("440100000001007")).toEqual([sims[7]]);
  expect(await search("44010000000100")).toEqual([]);
});

/** Listed SIMs. */
function selected(filter: Filter, search?: string) {
  return { filter, presence: "listed", keyColumn: "simId", search } as const;
}
