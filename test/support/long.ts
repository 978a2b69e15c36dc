/**
 * Tests with a short and a long form: the same property over fewer or more seeds, kills or seconds. `npm test` takes the
 * short form, or leaves out what takes minutes; `npm run test:long` runs the test files that import this one, and takes the
 * long form.
 */
export const isLong = process.env.SIMFLEET_TEST_LONG === "1";

/** How many seeds, kills or milliseconds a test takes. */
export function seeds(short: number, long: number): number {
  return isLong ? long : short;
}
