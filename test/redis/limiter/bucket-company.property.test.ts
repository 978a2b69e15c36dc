import fc from "fast-check";
import { beforeAll, describe, it } from "vitest";
import { seeds } from "../../support/long.ts";
import { openTestRedis } from "../../support/redis.ts";
import { allOf, nameOf, onePerWindow, ours, rightRefreshes, staysShut } from "./checks.ts";
import { type Check, expectOfAll, propertyTimeoutMs, quiet, scenariosOf, incident } from "./scenarios.ts";
import { SimulatedBucket } from "./simulated-bucket.ts";

const { redis } = openTestRedis();
beforeAll(() => SimulatedBucket.load(redis));

/** Windows that are short, so that many are seen in little time. */
const short = { ...quiet, periodMs: fc.constant(10_000) };

describe("a bucket with other callers", () => {
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

  it(
    "a bucket gets at most one 429 per window beside a steady caller and stays closed after it",
    async () => {
      const check = allOf(onePerWindow, staysShut, rightRefreshes);
      await expectOfAll(redis, "steady company", { scenarios: scenariosOf(company), check, runs: seeds(2, 60) });
    },
    propertyTimeoutMs,
  );

  it(
    "a bucket gets several answers of 429 in one window at most beside bursts of others, and uses its windows",
    async () => {
      const others = fc.record({
        how: fc.constant("steady" as const),
        perSecond: fc.integer({ min: 25, max: 80 }).map((n) => n / 100),
        burst: fc.integer({ min: 2, max: 12 }),
      });
      const scenarios = scenariosOf({ ...company, others, lengthInWindows: fc.constant(5.5) });
      const learns: Check = (seen, scenario) => onePerWindow(seen, scenario).slice(1);
      const isUsed: Check = ({ windows }) =>
        windows
          .slice(1, -1)
          .filter((w) => ours(w.counted) + w.counted.other < w.limit * 0.95)
          .map((w) => `${nameOf(w)} was used for ${ours(w.counted)} of ${w.limit - w.counted.other} calls`);
      const check = allOf(learns, isUsed, staysShut);
      await expectOfAll(redis, "bursts", { scenarios, check, runs: seeds(2, 60) });
    },
    propertyTimeoutMs,
  );

  it(
    "a bucket stays closed after a 429 for any behavior of other callers",
    async () => {
      const others = fc.record({
        how: fc.constant("random" as const),
        perSecond: fc.integer({ min: 1, max: 40 }).map((n) => n / 4),
      });
      const scenarios = scenariosOf({
        ...company,
        ...incident,
        requestMs: quiet.requestMs,
        answerMs: quiet.answerMs,
        others,
      });
      await expectOfAll(redis, "random company", {
        scenarios,
        check: allOf(staysShut, rightRefreshes),
        runs: seeds(2, 60),
      });
    },
    propertyTimeoutMs,
  );

  it(
    "a bucket leaves the reserve to other callers",
    async () => {
      const scenarios = scenariosOf({
        ...short,
        ...incident,
        lengthInWindows: fc.constant(3.5),
        reserve: fc.integer({ min: 1, max: 5 }).map((n) => n / 10),
        priorityShare: fc.constantFrom(0, 0, 0.1),
        others: fc.record({ how: fc.constantFrom("none", "steady", "random"), perSecond: fc.constantFrom(0.5, 1, 2) }),
      });
      const check: Check = ({ windows }, { reserve }) =>
        windows
          // A call that was lost while the refresh was in doubt may be taken for another caller's.
          .filter((w) => w.counted.normal - w.unheard > Math.max(1, w.limit - Math.ceil(w.limit * Number(reserve))))
          .map(
            (w) => `${nameOf(w)} counted ${w.counted.normal} normal calls of ${w.limit} with a reserve of ${reserve}`,
          );
      await expectOfAll(redis, "reserve", { scenarios, check, runs: seeds(2, 60) });
    },
    propertyTimeoutMs,
  );
});

describe("a bucket on other kinds of platforms", () => {
  it(
    "a bucket gets at most one 429 per window and uses windows that begin with their first call",
    async () => {
      const scenarios = scenariosOf({
        ...short,
        windows: fc.constant("anchored"),
        callersEach: fc.integer({ min: 4, max: 8 }),
        lengthInWindows: fc.constant(3.5),
      });
      const isUsed: Check = ({ windows }) =>
        windows
          .slice(1, -1)
          .filter((w) => ours(w.counted) < w.limit * 0.8)
          .map((w) => `${nameOf(w)} was used for ${ours(w.counted)} of ${w.limit} calls`);
      await expectOfAll(redis, "anchored", { scenarios, check: allOf(onePerWindow, isUsed), runs: seeds(2, 60) });
    },
    propertyTimeoutMs,
  );

  it(
    "a bucket gets at most one 429 per window when the platform restarts with shifted windows",
    async () => {
      const scenarios = scenariosOf({
        ...short,
        platformRestartAt: fc.integer({ min: 1, max: 2_000 }).map((n) => n / 1_000),
        lengthInWindows: fc.constant(3.5),
      });
      await expectOfAll(redis, "restart", { scenarios, check: onePerWindow, runs: seeds(2, 60) });
    },
    propertyTimeoutMs,
  );

  it(
    "a bucket gets at most one 429 per call in flight when the limit changes",
    async () => {
      const limitChanges = fc.array(
        fc.record({
          at: fc.integer({ min: 1, max: 4_000 }).map((n) => n / 1_000),
          limit: fc.integer({ min: 5, max: 120 }),
        }),
        { minLength: 1, maxLength: 3 },
      );
      const check: Check = (seen, scenario) =>
        seen.windows
          .filter(({ refused }) => ours(refused) > scenario.processes * scenario.callersEach)
          .map((w) => `${nameOf(w)} met ${ours(w.refused)} answers of 429`);
      const reserve = fc.constantFrom(0, "auto" as const);
      const scenarios = scenariosOf({ ...short, limitChanges, reserve });
      await expectOfAll(redis, "limit", {
        scenarios,
        check: allOf(check, rightRefreshes, staysShut),
        runs: seeds(2, 60),
      });
    },
    propertyTimeoutMs,
  );
});
