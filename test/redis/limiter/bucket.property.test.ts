import fc from "fast-check";
import { beforeAll, describe, it } from "vitest";
import { openTestRedis } from "../../support/redis.ts";
import type { Window } from "./model-platform.ts";
import { type Judge, expectOfAll, propertyTimeoutMs, quiet, scenariosOf, trouble } from "./scenarios.ts";
import { SimulatedBucket } from "./simulated-bucket.ts";
import { leaseMs } from "./simulation.ts";
import { beginMs } from "./world.ts";

const { redis } = openTestRedis();
beforeAll(() => SimulatedBucket.load(redis));

const ours = (counts: Window["counted"]): number => counts.normal + counts.priority;
const nameOf = (window: Window): string => `the window of ${((window.beginMs - beginMs) / 1_000).toFixed(3)} s`;
const noRefusal: Judge = ({ windows }) =>
  windows.filter(({ refused }) => ours(refused) > 0).map((w) => `${nameOf(w)} met ${ours(w.refused)} answers of 429`);
const onePerWindow: Judge = ({ windows }) =>
  windows.filter(({ refused }) => ours(refused) > 1).map((w) => `${nameOf(w)} met ${ours(w.refused)} answers of 429`);
const rightRefreshes: Judge = ({ wrongRefreshes }) => wrongRefreshes;
const freezes: Judge = ({ grantsAfterRefusal }) => grantsAfterRefusal;
const allOf =
  (...judges: Judge[]): Judge =>
  (seen, scenario) =>
    judges.flatMap((judge) => judge(seen, scenario));
const report = (name: string, sums: object): void => console.log(`${name}: ${JSON.stringify(sums)}`);

describe("the bucket with the quota to itself", () => {
  it(
    "meets no 429 and always knows the refresh, whatever crashes, is lost or comes late",
    async () => {
      const scenarios = scenariosOf({ ...quiet, ...trouble });
      report("alone", await expectOfAll(redis, { scenarios, judge: allOf(noRefusal, rightRefreshes), runs: 60 }));
    },
    propertyTimeoutMs,
  );

  it(
    "uses each window to its last call but one, or to its last where every window is needed",
    async () => {
      const scenarios = scenariosOf({
        ...quiet,
        limit: fc.integer({ min: 5, max: 80 }),
        callersEach: fc.integer({ min: 6, max: 12 }),
        requestMs: fc.constant([1, 25] as const),
        answerMs: fc.constant([1, 25] as const),
        redisMs: fc.constantFrom(0.2, 1, 5),
      });
      const judge: Judge = ({ windows }) =>
        windows
          .slice(1, -1)
          .filter((w) => ours(w.counted) < w.limit - 1)
          .map((w) => `${nameOf(w)} was used for ${ours(w.counted)} of ${w.limit} calls`);
      report("use", await expectOfAll(redis, { scenarios, judge: allOf(noRefusal, rightRefreshes, judge), runs: 60 }));
    },
    propertyTimeoutMs,
  );
});

describe("the bucket in company", () => {
  const company = {
    ...quiet,
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
    "meets one 429 a window at most while another caller spends steadily, and stays shut after it",
    async () => {
      const judge = allOf(onePerWindow, freezes, rightRefreshes);
      report("steady company", await expectOfAll(redis, { scenarios: scenariosOf(company), judge, runs: 60 }));
    },
    propertyTimeoutMs,
  );

  it(
    "stays shut after a 429, whatever the others do",
    async () => {
      const others = fc.record({
        how: fc.constant("random" as const),
        perSecond: fc.integer({ min: 1, max: 40 }).map((n) => n / 4),
      });
      const scenarios = scenariosOf({
        ...company,
        ...trouble,
        requestMs: quiet.requestMs,
        answerMs: quiet.answerMs,
        others,
      });
      report(
        "random company",
        await expectOfAll(redis, { scenarios, judge: allOf(freezes, rightRefreshes), runs: 60 }),
      );
    },
    propertyTimeoutMs,
  );

  it(
    "leaves the reserve to others",
    async () => {
      const scenarios = scenariosOf({
        ...quiet,
        ...trouble,
        reserve: fc.integer({ min: 1, max: 5 }).map((n) => n / 10),
        priorityShare: fc.constantFrom(0, 0, 0.1),
        others: fc.record({ how: fc.constantFrom("none", "steady", "random"), perSecond: fc.constantFrom(0.5, 1, 2) }),
      });
      const judge: Judge = ({ windows }, { reserve }) =>
        windows
          .filter((w) => w.counted.normal > Math.max(1, w.limit - Math.ceil(w.limit * reserve)))
          .map(
            (w) => `${nameOf(w)} counted ${w.counted.normal} normal calls of ${w.limit} with a reserve of ${reserve}`,
          );
      report("reserve", await expectOfAll(redis, { scenarios, judge, runs: 60 }));
    },
    propertyTimeoutMs,
  );
});

describe("the bucket after a break", () => {
  it(
    "serves a fresh process a full window within two periods and a lease after all others crashed",
    async () => {
      const scenarios = scenariosOf({
        ...quiet,
        ...trouble,
        crashes: fc.constant([]),
        lostShare: fc.constantFrom(0, 0.05, 1),
        slowMs: fc.constant(0),
        requestMs: fc.constant([2, 25] as const),
        answerMs: fc.constant([2, 25] as const),
        redisMs: fc.constantFrom(0.2, 1, 5),
        giveBackShare: fc.constant(0),
        callersEach: fc.integer({ min: 6, max: 12 }),
        massCrashAt: fc.integer({ min: 1, max: 2_000 }).map((n) => n / 1_000),
        lengthInWindows: fc.constant(7),
        periodMs: fc.constant(10_000),
      });
      const judge: Judge = ({ windows, freshProcessFromMs = 0 }, scenario) => {
        const from = freshProcessFromMs + 2 * scenario.periodMs + leaseMs;
        const whole = windows.filter((w) => w.beginMs >= from).slice(0, -1);
        if (whole.length === 0) return ["no whole window was seen after the crash"];
        return whole
          .filter((w) => ours(w.counted) < w.limit - 1 - w.limit * 2 * scenario.lostShare)
          .map((w) => `${nameOf(w)} was used for ${ours(w.counted)} of ${w.limit} calls`);
      };
      report("after a crash", await expectOfAll(redis, { scenarios, judge, runs: 60 }));
    },
    propertyTimeoutMs,
  );
});

describe("the bucket on platforms of other kinds", () => {
  it(
    "meets one 429 a window at most where a window begins with its first call, and uses the windows",
    async () => {
      const scenarios = scenariosOf({ ...quiet, windows: fc.constant("anchored"), lengthInWindows: fc.constant(6) });
      report("anchored", await expectOfAll(redis, { scenarios, judge: onePerWindow, runs: 60 }));
    },
    propertyTimeoutMs,
  );

  it(
    "meets one 429 a window at most when the platform starts anew with windows of another phase",
    async () => {
      const scenarios = scenariosOf({
        ...quiet,
        platformRestartAt: fc.integer({ min: 1, max: 3_000 }).map((n) => n / 1_000),
        lengthInWindows: fc.constant(6),
      });
      report("restart", await expectOfAll(redis, { scenarios, judge: onePerWindow, runs: 60 }));
    },
    propertyTimeoutMs,
  );

  it(
    "meets one 429 for each call in flight at most when the limit is changed",
    async () => {
      const limitChanges = fc.array(
        fc.record({
          at: fc.integer({ min: 1, max: 4_000 }).map((n) => n / 1_000),
          limit: fc.integer({ min: 5, max: 120 }),
        }),
        { minLength: 1, maxLength: 3 },
      );
      const judge: Judge = (seen, scenario) =>
        seen.windows
          .filter(({ refused }) => ours(refused) > scenario.processes * scenario.callersEach)
          .map((w) => `${nameOf(w)} met ${ours(w.refused)} answers of 429`);
      const scenarios = scenariosOf({ ...quiet, limitChanges });
      report("limit", await expectOfAll(redis, { scenarios, judge: allOf(judge, rightRefreshes, freezes), runs: 60 }));
    },
    propertyTimeoutMs,
  );
});
