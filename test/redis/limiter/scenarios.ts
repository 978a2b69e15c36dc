/** Arbitrary scenarios by what may happen in them, and how a property over them is checked and reported. */
import fc from "fast-check";
import type { Redis } from "ioredis";
import { type Scenario, type Seen, calm, simulate } from "./simulation.ts";

const share = (steps: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: steps }).map((n) => n / steps);
const legMs: fc.Arbitrary<readonly [number, number]> = fc
  .tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 120 }))
  .map(([min, more]) => [min, min + more] as const);

/** A platform, processes and a network on which nothing breaks. */
export const quiet = {
  seed: fc.integer({ min: 1, max: 1_000_000 }),
  periodMs: fc.oneof({ weight: 19, arbitrary: fc.constant(10_000) }, { weight: 1, arbitrary: fc.constant(60_000) }),
  lengthInWindows: fc.constant(2.6),
  limit: fc.integer({ min: 12, max: 50 }),
  phase: share(1_000),
  rounding: fc.constantFrom("up", "down", "nearest"),
  driftPpm: fc.integer({ min: -50, max: 50 }),
  processes: fc.integer({ min: 1, max: 5 }),
  callersEach: fc.integer({ min: 1, max: 8 }),
  requestMs: legMs,
  answerMs: legMs,
  redisMs: fc.constantFrom(0.2, 1, 5, 40),
  backlog: fc.constantFrom("unknown", "endless"),
} satisfies { [key in keyof Scenario]?: fc.Arbitrary<Scenario[key]> };

/** Slow answers, lost responses, permits given back, crashes. */
export const incident = {
  slowShare: share(10).map((n) => n / 3),
  slowMs: fc.integer({ min: 0, max: 3_000 }),
  lostShare: share(10).map((n) => n / 5),
  timeoutMs: fc.integer({ min: 100, max: 3_000 }),
  giveBackShare: share(10).map((n) => n / 5),
  crashes: fc.array(
    fc.record({
      at: share(1_000).map((n) => n * 2.5),
      process: fc.integer({ min: 0, max: 4 }),
      restartMs: fc.integer({ min: 0, max: 5_000 }),
    }),
    { maxLength: 4 },
  ),
} satisfies { [key in keyof Scenario]?: fc.Arbitrary<Scenario[key]> };

export function scenariosOf(deps: { [key in keyof Scenario]?: fc.Arbitrary<Scenario[key]> }): fc.Arbitrary<Scenario> {
  return fc.record(deps as Record<string, fc.Arbitrary<unknown>>).map((made) => ({ ...calm, ...made }));
}

/** What is wrong with what was seen, one sentence each; nothing where all is well. */
export type Check = (seen: Seen, scenario: Scenario) => readonly string[];

/** For long hauls by hand: that many times the runs, from another seed. */
const times = Number(process.env.PROPERTY_RUNS_TIMES ?? 1);
const seed = Number(process.env.PROPERTY_SEED ?? 4_711);
export const propertyTimeoutMs = 180_000 * times;

/**
 * Checks that `check` finds nothing wrong in any of the scenarios.
 * @throws Error with the smallest scenario found, what is wrong, and the story around it
 */
export async function expectOfAll(
  redis: Redis,
  name: string,
  options: { scenarios: fc.Arbitrary<Scenario>; check: Check; runs: number },
): Promise<void> {
  const sums = { runs: 0, calls: 0, exchanges: 0, refused: 0 };
  const found = await fc.check(
    fc.asyncProperty(options.scenarios, async (scenario) => {
      const seen = await simulate(redis, scenario);
      sums.runs += 1;
      sums.calls += seen.calls;
      sums.exchanges += seen.exchanges;
      sums.refused += seen.windows.reduce((sum, { refused }) => sum + refused.normal + refused.priority, 0);
      return options.check(seen, scenario).length === 0;
    }),
    { numRuns: options.runs * times, seed, plugins: [fc.interruptAfterTimeLimit(propertyTimeoutMs - 12_000)] },
  );
  const [smallest] = (found.counterexample as [Scenario] | null) ?? [];
  if (smallest !== undefined) {
    const error = new Error(await emit(redis, smallest, options.check), { cause: found.errorInstance });
    delete error.stack; // the story says where; a trace only repeats it
    throw error;
  }
  if (found.interrupted) throw new Error(`Too slow: ${sums.runs} of ${options.runs * times} runs were made in time`);
  if (sums.calls < 50 * sums.runs)
    throw new Error(`Hardly a call was made, so nothing was shown: ${JSON.stringify(sums)}`);
  console.log(`${name}: ${JSON.stringify(sums)}`);
}

async function emit(redis: Redis, scenario: Scenario, check: Check): Promise<string> {
  const seen = await simulate(redis, scenario, true);
  const bad = seen.story.findIndex((line) => line.includes("REFUSES"));
  const from = bad < 0 ? Math.max(0, seen.story.length - 80) : Math.max(0, bad - 60);
  return [
    "The smallest scenario found:",
    JSON.stringify(scenario),
    "What is wrong in it:",
    ...check(seen, scenario)
      .slice(0, 8)
      .map((line) => `  ${line}`),
    "Its story around that:",
    ...seen.story.slice(from, from + 80),
  ].join("\n");
}
