import fc from "fast-check";
import { expect, it } from "vitest";
import { rowProblemCodes } from "#fleet/run.ts";
import { seeds } from "../../support/long.ts";
import type { FieldChange } from "#fleet/sim-operation/sim-operation.ts";
import {
  type Settled,
  type StoredRow,
  packOutcomes,
  packRows,
  unpackOutcomes,
  unpackRows,
} from "#jobs/runs/ledger/packing.ts";
import { anyText } from "../../support/any-text.ts";

const text = fc.oneof(
  fc.string({ unit: "grapheme" }),
  anyText(),
  fc.constantFrom("", "東京–①", 'Zürich, "Halle 7"\r\n', "\u0000\ud800", "🛰️"),
);
const row = (index: number): fc.Arbitrary<StoredRow> =>
  fc.record(
    {
      index: fc.constant(index),
      line: fc.nat(),
      key: text,
      inputs: fc.array(text, { minLength: 1, maxLength: 3 }),
      cells: fc.array(text, { maxLength: 6 }),
      weight: fc.integer({ min: 1, max: 1_000 }),
      problem: fc.record({
        code: fc.constantFrom(...rowProblemCodes),
        message: text,
        column: fc.constantFrom("speedClass", "a,b"),
      }),
      planned: fc.constantFrom("unchanged", "not-in-inventory"),
      duplicateOf: fc.nat(),
      before: fc.array(fc.option(text), { minLength: 1, maxLength: 3 }),
      onlyIf: fc.array(
        text.chain((field) => fc.option(text).map((value): FieldChange => [field, value])),
        { minLength: 1, maxLength: 2 },
      ),
      operation: fc.integer({ min: 1, max: 2 }),
    },
    { requiredKeys: ["index", "line", "key", "inputs", "cells", "weight"] },
  );
const settled: fc.Arbitrary<Settled> = fc.record({
  outcome: fc.constantFrom("done", "skipped", "rejected", "failed", "unknown"),
  reason: text,
  previous: fc.option(fc.array(fc.option(text), { maxLength: 3 }), { nil: undefined }),
  attempts: fc.nat(),
  finishedAtMs: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
});

it("packed rows round-trip with numbers from the first row of the segment", async () => {
  const rows = fc
    .tuple(fc.nat({ max: 1_000_000 }), fc.nat({ max: 20 }))
    .chain(([first, count]) =>
      fc.tuple(fc.constant(first), fc.tuple(...Array.from({ length: count }, (_, i) => row(first + i)))),
    );
  await fc.assert(
    fc.asyncProperty(rows, async ([first, stored]) => {
      expect(unpackRows(await packRows(stored), first)).toEqual(stored);
    }),
    { seed: 4_711, numRuns: seeds(60, 300) },
  );
});

it("packed outcomes round-trip with the positions of their rows", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(), settled), { maxLength: 30 }), async (entries) => {
      const outcomes = new Map(entries);
      const records = Object.fromEntries([...outcomes].map(([place, outcome]) => [place, JSON.stringify(outcome)]));
      expect(unpackOutcomes(await packOutcomes(records))).toEqual(outcomes);
    }),
    { seed: 4_711, numRuns: seeds(60, 300) },
  );
});
