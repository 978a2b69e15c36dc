/**
 * Runs random schedules against the real bucket.lua with a virtual clock (docs/reference/performance.md), and a
 * thousand processes on one quota. A schedule in which a property does not hold is named by its seed, and the exit code
 * is 1.
 *
 *   npm run simulate:limiter
 *   npm run simulate:limiter -- --schedules 1000000 --seed 1 --at-once 2
 */
import { parseArgs } from "node:util";
import { openEngine, sumsOf } from "./engine.ts";

const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    "at-once": { type: "string", default: "2" },
  },
});
const perStep = 2_000;
const total = Number(values.schedules);
const begin = Number(values.seed);
const beginMs = performance.now();
const engine = await openEngine();
const sums = { schedules: 0, exchanges: 0, calls: 0, refused: 0 };
const failures: string[] = [];
let next = begin;

const report = (): string =>
  `${sums.schedules} schedules, ${sums.exchanges} exchanges, ${sums.calls} calls, ${sums.refused} answers of 429, ` +
  `${failures.length} failures, ${((performance.now() - beginMs) / 1_000).toFixed(0)} s (${engine.name})`;

async function work(): Promise<void> {
  while (next < begin + total) {
    const first = next;
    const last = Math.min(first + perStep, begin + total) - 1;
    next = last + 1;
    const found = sumsOf(await engine.schedules(first, last));
    sums.schedules += found.schedules;
    sums.exchanges += found.exchanges;
    sums.calls += found.calls;
    sums.refused += found.refused;
    for (const failure of found.failures) console.log(failure);
    failures.push(...found.failures);
    if (sums.schedules % (25 * perStep) === 0 && sums.schedules < total) console.log(report());
  }
}

const fleet = (await engine.fleet(begin, 1_000)).trimEnd();
console.log(`1000 processes: ${fleet}`);
failures.push(...fleet.split("\n").slice(1));
await Promise.all(Array.from({ length: Number(values["at-once"]) }, work));
console.log(report());
await engine.close();
process.exitCode = failures.length > 0 ? 1 : 0;
