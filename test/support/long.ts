/**
 * Tests with a short and a long form: the same property over fewer or more seeds, kills or seconds. `npm test` takes
 * the short form, or leaves out what takes minutes; `npm run test:long` runs the test files that import this one, and
 * takes the long form. `SIMFLEET_TEST_LONG=0.5 npm run test:long` takes half of the way from the short to the long
 * form.
 */
const share = Number(process.env.SIMFLEET_TEST_LONG ?? 0);

export const isLong = share > 0;

/** Does something for each of the seeds 1 to `count`, several at a time. */
export async function forEachSeed(count: number, atOnce: number, act: (seed: number) => Promise<void>): Promise<void> {
  let seed = 0;
  const oneLane = async (): Promise<void> => {
    while (seed < count) await act((seed += 1));
  };
  await Promise.all(Array.from({ length: atOnce }, oneLane));
}

/** How many seeds, kills or milliseconds a test takes. */
export function seeds(short: number, long: number): number {
  return Math.ceil(short + (long - short) * share);
}
