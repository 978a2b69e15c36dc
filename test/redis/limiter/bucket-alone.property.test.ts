import fc from "fast-check";
import { beforeAll, describe, it } from "vitest";
import { seeds } from "../../support/long.ts";
import { openTestRedis } from "../../support/redis.ts";
import { allOf, nameOf, noRefusal, reportUnused, rightRefreshes, usesWindows } from "./checks.ts";
import { type Check, expectOfAll, propertyTimeoutMs, quiet, scenariosOf, incident } from "./scenarios.ts";
import { SimulatedBucket } from "./simulated-bucket.ts";
import { leaseMs } from "./simulation.ts";

const { redis } = openTestRedis();
beforeAll(() => SimulatedBucket.load(redis));

/** Checks the scenarios that are made of these parts. */
const checkScenarios = (name: string, parts: Parameters<typeof scenariosOf>[0], ...checks: Check[]): Promise<void> =>
  expectOfAll(redis, name, { scenarios: scenariosOf(parts), check: allOf(...checks), runs: seeds(2, 60) });

/** Enough of them to use each window, over a fast network. */
const manyCallers = {
  callersEach: fc.integer({ min: 6, max: 12 }),
  requestMs: fc.constant([1, 25] as const),
  answerMs: fc.constant([1, 25] as const),
  redisMs: fc.constantFrom(0.2, 1, 5),
};

describe("a bucket without other callers", { timeout: propertyTimeoutMs }, () => {
  it("a bucket without other callers gets no 429 and knows each refresh despite crashes, losses, and delays", async () => {
    await checkScenarios("alone", { ...quiet, ...incident }, noRefusal, rightRefreshes);
  });

  it("a bucket without other callers uses each window except for at most one call", async () => {
    const parts = { ...quiet, limit: fc.integer({ min: 5, max: 80 }), ...manyCallers };
    const isUsed = usesWindows((limit) => limit - 1);
    await checkScenarios("use", parts, noRefusal, rightRefreshes, isUsed);
  });

  it("a bucket that eight profiles of an operator share uses 0.98 of each window without a 429", async () => {
    const parts = {
      ...quiet,
      ...manyCallers,
      processes: fc.constant(8),
      limit: fc.integer({ min: 100, max: 200 }),
      periodMs: fc.constant(10_000),
    };
    const isUsed = usesWindows((limit) => 0.98 * limit);
    await checkScenarios("eight", parts, noRefusal, isUsed);
  });

  const unknownDemand = {
    ...quiet,
    rounding: fc.constantFrom("up", "nearest"),
    backlog: fc.constant("unknown"),
    lengthInWindows: fc.constant(5.6),
    periodMs: fc.constant(10_000),
    limit: fc.integer({ min: 60, max: 80 }),
    ...manyCallers,
  } as const;

  it("a bucket whose demand is unknown learns the rounding, and begins each window within 400 ms from the fourth on", async () => {
    const lateWindows: Check = ({ windows }) =>
      windows
        .slice(3, -1)
        .filter((w) => (w.firstCallMs ?? w.endMs) - w.beginMs > 400)
        .map((w) => `${nameOf(w)} began after ${((w.firstCallMs ?? w.endMs) - w.beginMs).toFixed(0)} ms`);
    await checkScenarios("rounding", unknownDemand, noRefusal, lateWindows);
  });
});

describe("a bucket after a crash of all processes", { timeout: propertyTimeoutMs }, () => {
  const massCrash = {
    ...quiet,
    ...incident,
    crashes: fc.constant([]),
    lostShare: fc.constantFrom(0, 0.05, 1),
    slowMs: fc.constant(0),
    requestMs: fc.constant([2, 25] as const),
    answerMs: fc.constant([2, 25] as const),
    redisMs: fc.constantFrom(0.2, 1, 5),
    giveBackShare: fc.constant(0),
    callersEach: fc.integer({ min: 6, max: 12 }),
    massCrashAt: fc.integer({ min: 1, max: 1_200 }).map((n) => n / 1_000),
    lengthInWindows: fc.constant(6.2),
    periodMs: fc.constant(10_000),
  };

  it("a bucket serves a new process a full window within two periods and a lease after all others crashed", async () => {
    const isFull: Check = ({ windows, freshProcessFromMs = 0 }, scenario) => {
      const from = freshProcessFromMs + 2 * scenario.periodMs + leaseMs;
      const whole = windows.filter((w) => w.beginMs >= from).slice(0, -1);
      if (whole.length === 0) return ["no whole window was seen after the crash"];
      return reportUnused(whole, (limit) => limit - 1);
    };
    await checkScenarios("after a crash", massCrash, isFull);
  });
});
