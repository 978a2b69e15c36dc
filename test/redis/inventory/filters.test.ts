/** A filter selects the same SIMs whether an index answers it or every record is read. */
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { systemClock } from "#core/time.ts";
import { type Condition, type Filter, everySim, matches, parseFilter } from "#fleet/filter.ts";
import { pickFields, textOf, visitFields } from "#fleet/sim/sim-fields.ts";
import { countSims } from "#jobs/inventory/explore/count.ts";
import { maxSorted, orderOf, sortedPage } from "#jobs/inventory/explore/sorted-page.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { SyncLog } from "#jobs/inventory/store/sync-record.ts";
import type { ListedSims } from "#jobs/inventory/records/page-encoder.ts";
import { type CodeLookup, codesFor, columnsFor } from "#jobs/inventory/records/value-codes.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds } from "../ledger/run-of.ts";

const { redis, keys } = openTestRedis();
const storeDeps = { redis, keys, bounds: keptBounds };
const inventory = new Inventory(storeDeps);
const syncs = new SyncLog(storeDeps);
const fields = ["speedClass", "status", "groupId", "tags", "online", "deep.er", "imsi"];
const selection = { fields, secrets: new Set<string>(), places: {} };

const value = fc.constantFrom("a", "b", "s1.fast", "true", "7", "{}", "x=y", "a b", "", "é\u2028");
const record = fc.record(
  {
    speedClass: value,
    status: value,
    groupId: fc.oneof(value, fc.record({ in: value })),
    online: fc.constantFrom(true, false, null, 7, ["a"]),
    tags: fc.dictionary(fc.constantFrom("site", "a.b", "x=y", "n:1"), value, { maxKeys: 3 }),
    deep: fc.record({ er: fc.oneof(value, fc.record({ in: value })) }),
  },
  { requiredKeys: [] },
);
const field = fc.constantFrom(
  "simId",
  "speedClass",
  "status",
  "tags",
  "tags.site",
  "tags.a.b",
  "tags.x=y",
  "online",
  "deep.er",
  "deep.er.in",
  "no",
);
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ kind: fc.constantFrom("equals" as const, "differs" as const), field, value }),
  fc.record({ kind: fc.constant("in" as const), field, values: fc.array(value, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constantFrom("exists" as const, "absent" as const), field }),
);

async function takeIn(profile: string, records: readonly Record<string, unknown>[]): Promise<string[]> {
  const { syncId } = await syncs.begin(profile, "s-1", "restart");
  const all = records.map((_, n) => `8942300000${n}`);
  const simsOf = (from: number, to: number): ListedSims => ({
    keys: all.slice(from, to),
    digests: "0000000000000".repeat(to - from),
    encodeFields: (place, visit) => void visitFields(records[from + place] ?? {}, selection, visit),
  });
  const codes = await syncs.codes(profile);
  const half = Math.ceil(all.length / 2);
  // The first half teaches the codes of values, which the second half is written with.
  const first = { syncId, pagesBefore: 0, sims: simsOf(0, half), nextKey: "k", asOfMs: 0, quiet: [], codes };
  await syncs.takePage(profile, { ...first, expect: "new" });
  const page = {
    syncId,
    pagesBefore: 1,
    sims: simsOf(half, all.length),
    nextKey: undefined,
    asOfMs: 0,
    quiet: [],
    codes,
    expect: "new",
  } as const;
  await syncs.takePage(profile, page);
  return all;
}

async function found(profile: string, filter: Filter): Promise<string[]> {
  const all: string[] = [];
  for await (const batch of inventory.scan(profile, filter, { keyColumn: "simId" }))
    all.push(...batch.map(({ key }) => key));
  return all;
}

it("an inventory filter finds the same SIMs as a full comparison for every combination of conditions", async () => {
  let round = 0;
  let meantInAll = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 40 }),
      fc.array(fc.array(condition, { minLength: 1, maxLength: 3 }), { minLength: 5, maxLength: 5 }),
      async (records, filters) => {
        round += 1;
        const profile = `f${round}`;
        const sims = await takeIn(profile, records);
        for (const conditions of filters) {
          const filter = { text: "", conditions };
          const meant = sims.filter((key, n) => {
            const kept = pickFields(records[n] ?? {}, selection).fields;
            return matches(filter, (name) => {
              if (name === "simId") return key;
              const own = kept.get(name);
              if (own !== undefined) return textOf(own);
              return [...kept.keys()].some((inner) => inner.startsWith(`${name}.`)) ? "{}" : undefined;
            });
          });
          meantInAll += meant.length;
          expect(await found(profile, filter)).toEqual(meant);
          const counted = await countSims(inventory, profile, selected(filter), {
            clock: systemClock,
            limitMs: 60_000,
          });
          expect(counted).toEqual({ count: meant.length, isExact: true });
        }
      },
    ),
    { numRuns: 100 },
  );
  expect(meantInAll).toBeGreaterThan(200);
});

it("a list in the order of a field has every selected SIM once, page by page, those without a value last", async () => {
  const places = Array.from({ length: 40 }, (_, n) => n);
  const classes = ["s1.fast", "s1.slow", "s1.standard"];
  const records = places.map((n) => ({
    ...(n % 4 === 3 ? {} : { speedClass: classes[n % 3] }),
    status: n < 30 ? "active" : "ready",
  }));
  const sims = await takeIn("sorted", records);
  const valueOf = (n: number): string => records[n]?.speedClass ?? "~";
  const filter = parseFilter("status=active");
  const listed = async (sort: string): Promise<string[]> => {
    const all: string[] = [];
    let cursor: string | undefined;
    do {
      const page = { order: orderOf(sort), limit: 7, cursor };
      const { found: sorted, nextCursor } = await sortedPage({ inventory, profile: "sorted" }, selected(filter), page);
      all.push(...sorted.map(({ key }) => key));
      cursor = nextCursor ?? undefined;
    } while (cursor !== undefined);
    return all;
  };
  const active = places.slice(0, 30);
  const ascending = active.toSorted((a, b) => (valueOf(a) < valueOf(b) ? -1 : valueOf(a) > valueOf(b) ? 1 : a - b));
  expect(await listed("speedClass")).toEqual(ascending.map((n) => sims[n]));
  const none = ascending.filter((n) => valueOf(n) === "~");
  const descending = classes.toReversed().flatMap((one) => ascending.filter((n) => valueOf(n) === one));
  expect(await listed("-speedClass")).toEqual([...descending, ...none].map((n) => sims[n]));
  expect(await listed("-simId")).toEqual(
    active
      .map((n) => sims[n] ?? "")
      .toSorted()
      .toReversed(),
  );
});

it("a list is sorted by a field without an index, or by a time of the record, if it is short", async () => {
  const names = ["pear", "apple", undefined, "fig", "date", "cherry", "apple"];
  const sims = await takeIn(
    "by-records",
    names.map((name, n) => ({ status: n < 6 ? "active" : "ready", ...(name === undefined ? {} : { imsi: name }) })),
  );
  const listed = async (sort: string, cursor?: string): Promise<string[]> => {
    const page = { order: orderOf(sort), limit: 3, cursor };
    const { found: sorted, nextCursor } = await sortedPage(
      { inventory, profile: "by-records" },
      selected(parseFilter("status=active")),
      page,
    );
    const rest = nextCursor === null ? [] : await listed(sort, nextCursor);
    return [...sorted.map(({ key }) => key), ...rest];
  };
  expect(await listed("imsi")).toEqual([1, 5, 4, 3, 0, 2].map((n) => sims[n]));
  expect(await listed("-imsi")).toEqual([0, 3, 4, 5, 1, 2].map((n) => sims[n]));
  expect(await listed("addedAt")).toEqual([0, 1, 2, 3, 4, 5].map((n) => sims[n]));
});

it("a list of more SIMs than can be sorted by a field without an index names what to do", async () => {
  const many = vi.spyOn(inventory, "index").mockImplementation(async function* () {
    const tooMany = Array.from({ length: maxSorted + 1 }, (_, n) => String(n));
    yield await Promise.resolve({
      first: 0,
      keys: tooMany,
      test: () => "matches",
      isListed: () => true,
      codeAt: () => 0,
    } as never);
  });
  const page = { order: orderOf("imsi"), limit: 3 };
  await expect(sortedPage({ inventory, profile: "sorted" }, selected(everySim), page)).rejects.toThrow(
    "More than 100,000 SIMs match, so they cannot be sorted by imsi: narrow the filter, or sort by one of simId, speedClass, status",
  );
  many.mockRestore();
});

it("a search finds SIMs by a part of the SIM ID, or by the whole IMSI", async () => {
  const sims = await takeIn(
    "searched",
    Array.from({ length: 30 }, (_, n) => ({
      status: "active",
      tags: { n: String(n) },
      imsi: `44010000000${1_000 + n}`,
    })),
  );
  const search = async (text: string): Promise<string[]> => {
    const all: string[] = [];
    const options = { keyColumn: "simId", search: text } as const;
    for await (const batch of inventory.scan("searched", everySim, options)) all.push(...batch.map(({ key }) => key));
    const { count } = await countSims(inventory, "searched", selected(everySim, text), {
      clock: systemClock,
      limitMs: 6e4,
    });
    expect(count).toBe(all.length);
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

it("an inventory filter on an absent or different value needs only codes, even when its column is full", async () => {
  const profile = "columns";
  const records = Array.from({ length: 300 }, (_, n) => ({
    speedClass: "a",
    tags: { ...(n % 100 === 77 ? {} : { asset: `asset-${n}` }), site: n === 222 ? "rome" : "oslo" },
  }));
  const sims = await takeIn(profile, records);
  const read = vi.spyOn(inventory, "lookUp");
  const meant = (places: readonly number[]): string[] => places.map((place) => sims[place] ?? "");
  const where = async (text: string): Promise<string[]> => found(profile, parseFilter(text));
  try {
    expect(await where("tags.site!=oslo")).toEqual(meant([222]));
    expect(await where("tags.asset not exists")).toEqual(meant([77, 177, 277]));
    expect(await where("tags.asset=asset-5")).toEqual(meant([5]));
    expect(await where("tags.asset=asset-290")).toEqual(meant([290]));
    expect(await where("tags.asset!=asset-290")).toHaveLength(299);
    // The first half was written before there were columns: of it, records are read that the second half needs not.
    const looks = read.mock.calls
      .slice(0, 2)
      .map(([, asked]) => asked.filter((key) => sims.indexOf(key) >= 150).length);
    expect(looks).toEqual([1, 2]);
  } finally {
    read.mockRestore();
  }
  const columns = await redis.hgetall(keys.simsColumns(profile));
  expect(columns).toMatchObject({ "#": "2", "@tags.asset": "0", "@tags.site": "1", "#0": "61", "#1": "2" });
  const { columnOf, codeOf } = await lookupOf(profile, ["tags.asset=asset-5", "tags.asset=asset-290"]);
  expect([columnOf("tags.asset"), columnOf("tags.site")]).toEqual([4, -1]);
  expect([codeOf("tags.asset", "asset-5"), codeOf("tags.asset", "asset-290")]).toEqual([8, 0]);
});

async function lookupOf(profile: string, texts: readonly string[]): Promise<CodeLookup> {
  const conditions = texts.flatMap((text) => parseFilter(text).conditions);
  const place = { redis, keys, profile };
  return codesFor(conditions, await columnsFor(conditions, place), place);
}
