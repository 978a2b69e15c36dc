import fc from "fast-check";
import { beforeAll, describe, it } from "vitest";
import { seeds } from "../../support/long.ts";
import { openTestRedis } from "../../support/redis.ts";
import { allOf, nameOf, onePerWindow, ours, rightRefreshes, staysShut, usesWindows } from "./checks.ts";
import { type Check, expectOfAll, propertyTimeoutMs, quiet, scenariosOf, incident } from "./scenarios.ts";
import { SimulatedBucket } from "./simulated-bucket.ts";

const { redis } = openTestRedis();
beforeAll(() => SimulatedBucket.load(redis));

/** Checks the scenarios that are made of these parts. */
const checkScenarios = (name: string, parts: Parameters<typeof scenariosOf>[0], ...checks: Check[]): Promise<void> =>
  expectOfAll(redis, name, { scenarios: scenariosOf(parts), check: allOf(...checks), runs: seeds(2, 60) });

/** Windows that are short, so that many are seen in little time. */
const short = { ...quiet, periodMs: fc.constant(10_000) };

describe("a bucket with other callers", { timeout: propertyTimeoutMs }, () => {
  const company = {
    ...short,
    others: fc.record({
      how: fc.constant("steady" as const),
      perSecond: fc.integer({ min: 1, max: 20 }).map((n) => n / 4),
    }),
    requestMs: fc.constant([2, 40] as const),
    answerMs: fc.constant([2, 40] as const),
    redisMs: fc.constantFrom(0.2, 1, 5),
    limit: fc.integer({ min: 40, max: 120 }),
  };

  it("a bucket gets at most one 429 per window next to a steady caller and stays closed after it", async () => {
    await checkScenarios("steady company", company, onePerWindow, staysShut, rightRefreshes);
  });

  it("a bucket gets several answers of 429 in one window at most from bursts of others, and uses its windows", async () => {
    const others = fc.record({
      how: fc.constant("steady" as const),
      perSecond: fc.integer({ min: 25, max: 80 }).map((n) => n / 100),
      burst: fc.integer({ min: 2, max: 12 }),
    });
    const learns: Check = (seen, scenario) => onePerWindow(seen, scenario).slice(1);
    const isUsed = usesWindows((limit) => limit * 0.95);
    const parts = { ...company, others, lengthInWindows: fc.constant(5.5) };
    await checkScenarios("bursts", parts, learns, isUsed, staysShut);
  });

  it("a bucket stays closed after a 429 for any behavior of other callers", async () => {
    const others = fc.record({
      how: fc.constant("random" as const),
      perSecond: fc.integer({ min: 1, max: 40 }).map((n) => n / 4),
    });
    const { requestMs, answerMs } = quiet;
    const parts = { ...company, ...incident, requestMs, answerMs, others };
    await checkScenarios("random company", parts, staysShut, rightRefreshes);
  });

  const withReserve = {
    ...short,
    ...incident,
    lengthInWindows: fc.constant(3.5),
    reserve: fc.integer({ min: 1, max: 5 }).map((n) => n / 10),
    priorityShare: fc.constantFrom(0, 0, 0.1),
    others: fc.record({ how: fc.constantFrom("none", "steady", "random"), perSecond: fc.constantFrom(0.5, 1, 2) }),
  } as const;

  it("a bucket leaves the reserve to other callers", async () => {
    const leavesReserve: Check = ({ windows }, { reserve }) =>
      windows
        // A call that was lost while the refresh was in doubt may be taken for another caller's.
        .filter((w) => w.counted.normal - w.unheard > Math.max(1, w.limit - Math.ceil(w.limit * Number(reserve))))
        .map((w) => `${nameOf(w)} counted ${w.counted.normal} normal calls of ${w.limit} with a reserve of ${reserve}`);
    await checkScenarios("reserve", withReserve, leavesReserve);
  });
});

describe("a bucket on other kinds of platforms", { timeout: propertyTimeoutMs }, () => {
  it("a bucket gets at most one 429 per window and uses windows that begin with their first call", async () => {
    const parts = {
      ...short,
      windows: fc.constant("anchored"),
      callersEach: fc.integer({ min: 4, max: 8 }),
      lengthInWindows: fc.constant(3.5),
    } as const;
    const isUsed = usesWindows((limit) => limit * 0.8);
    await checkScenarios("anchored", parts, onePerWindow, isUsed);
  });

  it("a bucket gets at most one 429 per window when the platform restarts with shifted windows", async () => {
    const platformRestartAt = fc.integer({ min: 1, max: 2_000 }).map((n) => n / 1_000);
    await checkScenarios("restart", { ...short, platformRestartAt, lengthInWindows: fc.constant(3.5) }, onePerWindow);
  });

  it("a bucket gets at most one 429 per call in flight when the limit changes", async () => {
    const limitChange = fc.record({
      at: fc.integer({ min: 1, max: 4_000 }).map((n) => n / 1_000),
      limit: fc.integer({ min: 5, max: 120 }),
    });
    const limitChanges = fc.array(limitChange, { minLength: 1, maxLength: 3 });
    const check: Check = (seen, scenario) =>
      seen.windows
        .filter(({ refused }) => ours(refused) > scenario.processes * scenario.callersEach)
        .map((w) => `${nameOf(w)} met ${ours(w.refused)} answers of 429`);
    const reserve = fc.constantFrom(0, "auto" as const);
    await checkScenarios("limit", { ...short, limitChanges, reserve }, check, rightRefreshes, staysShut);
  });
});
