/** The limiter in random schedules; `npm run simulate:limiter` runs many more of them, and faster. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { seeds } from "../support/long.ts";
import { type Engine, openWebAssembly, sumsOf } from "./engine.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await openWebAssembly();
});
afterAll(() => engine.close());

it("no schedule exceeds a quota, loses a permit, misses a refresh or starves a priority call", async () => {
  const [first, count] = [499, seeds(150, 3_000)];
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
