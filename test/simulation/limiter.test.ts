/** The limiter in random schedules; `npm run simulate:limiter` runs many more of them, and faster. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isLong, seeds } from "../support/long.ts";
import { type Engine, type Neighbors, openRedisLua, sumsOf } from "./engine.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openRedisLua();
});
afterAll(() => engine.close());

it("no schedule exceeds a quota, loses a permit, misses a refresh or starves a priority call", async () => {
  const [first, count] = [499, seeds(100, 3_000)];
  const { schedules, exchanges, calls, failures } = sumsOf(await engine.schedules(first, first + count - 1));
  expect(failures).toEqual([]);
  expect(schedules).toBe(count);
  expect(exchanges).toBeGreaterThan(20 * count);
  expect(calls).toBeGreaterThan(2 * count);
});

const failedOnce = [
  642, 722, 22_042, 284_765, 445_569, 562_026, 664_239, 691_874, 781_755, 939_725, 948_967, 2_026_913, 2_035_474,
];
it.each(failedOnce)("schedule %i, in which a property did not hold once, keeps all of them", async (seed) => {
  expect(sumsOf(await engine.schedules(seed, seed)).failures).toEqual([]);
});

it("many processes on one quota use each whole window, although some of them die", async () => {
  const [numbers = "", ...failures] = (await engine.fleet(1, seeds(60, 300))).split("\n");
  expect(failures).toEqual([]);
  const [, windows = ""] = /windows ([\d ]+)$/.exec(numbers) ?? [];
  const used = windows.split(" ").map(Number);
  expect(used.length).toBeGreaterThanOrEqual(3);
  for (const calls of used.slice(0, -1)) expect(calls).toBeGreaterThanOrEqual(595);
});

describe("bulk work beside others on the account", () => {
  /** Means over the seeds. */
  const means = async (others: Neighbors): Promise<readonly number[]> => {
    const rows = await Promise.all(
      Array.from({ length: seeds(2, 3) }, (_, n) => engine.neighbors(n + 1, { windows: seeds(12, 60), ...others })),
    );
    return (rows[0] ?? []).map((_, i) => rows.reduce((sum, row) => sum + (row[i] ?? 0), 0) / rows.length);
  };
  const short = { limit: 120, periodMs: 6_000 };
  const minute = { limit: 600, periodMs: 60_000 };

  const rivals: readonly [string, Neighbors, number][] = [
    ["10 % of a window of 6 s", { ...short, rival: 0.1 }, 0.02],
    ["30 % of a window of 6 s", { ...short, rival: 0.3 }, 0.02],
    ["10 % of a minute", { ...minute, rival: 0.1 }, 0.02],
    ["50 % of a minute", { ...minute, rival: 0.5 }, 0.02],
    ["30 % of a minute of 60 calls", { limit: 60, periodMs: 60_000, rival: 0.3 }, 0.02],
    ["10 % of a minute in bursts of ten", { ...minute, rival: 0.1, burst: 10 }, 0.02],
    ["10 % of a window of 6 s in bursts of twenty", { ...short, rival: 0.1, burst: 20 }, 0.08],
  ];
  // Windows of a minute take most of the time.
  it.each(rivals.filter(([, others]) => isLong || others.limit < 600))(
    "a rival that takes %s meets few answers of 429, and the quota is used",
    async (_, others, max) => {
      const [refused = 1, used = 0] = await means(others);
      expect(refused).toBeLessThanOrEqual(max);
      expect(used).toBeGreaterThanOrEqual(0.97);
    },
  );

  it("a reserve of 0 leaves nothing to a rival", async () => {
    const [refused = 0, used = 0] = await means({ ...short, rival: 0.1, reserve: "0" });
    expect(refused).toBeGreaterThan(0.5);
    expect(used).toBeGreaterThanOrEqual(0.99);
  });

  const live: readonly [string, Neighbors][] = [
    ["10 % of a minute of 60 calls", { limit: 60, periodMs: 60_000, live: 0.1 }],
    ["10 % of a minute", { ...minute, live: 0.1 }],
    ["50 % of a minute", { ...minute, live: 0.5 }],
  ];
  it.each(live.filter(([, others]) => isLong || others.limit < 600))(
    "live calls that take %s go first, and the quota is used",
    async (_, others) => {
      const [, used = 0, refused, , p99 = Infinity] = await means(others);
      expect({ refused, isUsed: used >= 0.99 }).toEqual({ refused: 0, isUsed: true });
      expect(p99).toBeLessThanOrEqual(1_200);
    },
  );

  it("live calls that ask for twice the limit leave a part of it to bulk work", async () => {
    const [, used = 0, refused, , , , bulk = 0] = await means({ ...(isLong ? minute : short), live: 2, windows: 6 });
    expect({ refused, isUsed: used >= 0.99 }).toEqual({ refused: 0, isUsed: true });
    expect(bulk).toBeGreaterThanOrEqual(0.2);
  });

  it("a rival that takes nine tenths of each window at its reset leaves the rest to bulk work, which takes it", async () => {
    const [, used = 0, , , , , bulk = 0] = await means({ ...short, grab: 0.9 });
    expect(used).toBeGreaterThanOrEqual(0.97);
    expect(bulk).toBeGreaterThanOrEqual(0.07);
  });

  it("a quota that nobody else uses is used to its last call", async () => {
    const [, used, refused] = await means(short);
    expect([used, refused]).toEqual([1, 0]);
  });
});
