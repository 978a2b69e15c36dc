/** The comparison with other limiters is what `npm run bench:peers` has written last. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { cells } from "../../bench/peers/cells.ts";
import { limiters } from "../../bench/peers/limiters.ts";
import type { Results } from "../../bench/peers/report.ts";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const results = JSON.parse(read("bench/peers/results.json")) as Results;

describe("docs/reference/performance.md", () => {
  test("the comparison has each situation and each limiter", () => {
    expect(Object.keys(results)).toEqual(cells.map(({ name }) => name));
    for (const cell of Object.values(results)) expect(Object.keys(cell)).toEqual(Object.keys(limiters));
  });
});
