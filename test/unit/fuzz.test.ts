/**
 * What people and other programs write, at random: whatever they write, it is read, or rejected with an error that says
 * so. Each property holds for a few hundred cases, and for ten thousand in the long form.
 */
import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readQuota, readRetryAfterMs } from "#api/http/headers.ts";
import { simOperations } from "#config/sim-operations.ts";
import { IntakeError, type SimfleetError } from "#core/errors.ts";
import { matches, parseFilter } from "#fleet/filter.ts";
import { type Json, fillJson, placeholdersIn } from "#fleet/sim-operation/template.ts";
import { parseCron } from "#fleet/time/cron.ts";
import { openCsv } from "#intake/csv.ts";
import { seeds } from "../support/long.ts";
import { anyText } from "../support/any-text.ts";

const numRuns = seeds(200, 10_000);

/** Pieces that have a meaning, and anything else. */
function textOf(...pieces: readonly string[]): fc.Arbitrary<string> {
  const piece = fc.oneof(fc.constantFrom(...pieces), anyText({ maxLength: 6 }));
  return fc.array(piece, { maxLength: 14 }).map((some) => some.join(""));
}

async function readCsv(bytes: Uint8Array, pieceLength: number): Promise<unknown> {
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceLength) }, (_, i) =>
    Buffer.from(bytes.subarray(i * pieceLength, (i + 1) * pieceLength)),
  );
  try {
    const csv = await openCsv(Readable.from(pieces, { objectMode: true }));
    const rows: unknown[] = [];
    for await (const batch of csv.batches) rows.push(...batch);
    return { header: csv.header, rows };
  } catch (thrown) {
    // Of two faults, which one is met first depends on the split.
    if (thrown instanceof IntakeError) return "refused";
    throw thrown;
  }
}

test("any bytes are a CSV file or an intake error, and the same in any split", async () => {
  const text = textOf("simId", ",", ";", "\t", "\n", "\r\n", '"', '""', "s1.fast", "89423", "\uFEFF", " ", "\0");
  const bytes = fc.oneof(
    text.map((some) => new Uint8Array(Buffer.from(some))),
    fc.uint8Array({ maxLength: 60 }),
  );
  await fc.assert(
    fc.asyncProperty(bytes, fc.integer({ min: 1, max: 7 }), async (some, length) => {
      expect(await readCsv(some, length)).toEqual(await readCsv(some, 1_000));
    }),
    { numRuns },
  );
});

test("any quota headers give a reading within its bounds or none", () => {
  const value = fc.option(fc.oneof(textOf("0", "1", "60", "-", ".", " ", "e9", "9".repeat(16)), fc.nat().map(String)), {
    nil: undefined,
  });
  const names = { limit: "x-limit", remaining: "x-remaining", refresh: "x-refresh" } as never;
  fc.assert(
    fc.property(value, value, value, value, (limit, remaining, refresh, after) => {
      const headers = { "x-limit": limit, "x-remaining": remaining, "x-refresh": refresh, "retry-after": after };
      const quota = readQuota(headers, { names, periodMs: 60_000 });
      if (quota !== undefined) {
        expect(Number.isSafeInteger(quota.limit) && quota.limit > 0).toBe(true);
        expect(quota.remaining).toBeGreaterThanOrEqual(0);
        expect(quota.remaining).toBeLessThanOrEqual(quota.limit);
        expect(quota.secondsBeforeRefresh).toBeLessThanOrEqual(60);
      }
      const afterMs = readRetryAfterMs(headers, Date.UTC(2026, 0, 1)) ?? 0;
      expect(afterMs).toBeGreaterThanOrEqual(0);
      expect(afterMs).toBeLessThanOrEqual(3_600_000);
    }),
    { numRuns },
  );
});

test("any text is a filter that can be written down and read again, or a usage error", () => {
  const text = textOf(
    "speedClass",
    "tags.site",
    "=",
    "!=",
    " in ",
    "(",
    ")",
    " and ",
    " or ",
    "not (",
    "<=",
    "^=",
    "30d ago",
    "500MB",
    "exists",
    "not ",
    '"',
    "\\",
    ",",
  );
  fc.assert(
    fc.property(text, fc.dictionary(fc.string(), fc.string()), (written, record) => {
      let filter;
      try {
        filter = parseFilter(written);
      } catch (thrown) {
        expect((thrown as SimfleetError).code).toBe("USAGE");
        return;
      }
      expect(parseFilter(filter.text)).toEqual(filter);
      expect(typeof matches(filter, (field) => record[field], 0)).toBe("boolean");
    }),
    { numRuns },
  );
});

test("any cron expression has later and later times, or is a usage error", () => {
  const field = fc.oneof(
    fc.constantFrom("*", "0", "*/5", "1-5", "L", "?", "60", "7", "MON", "1,2", "#", "H"),
    textOf("1", "/"),
  );
  const cron = fc.array(field, { maxLength: 7 }).map((fields) => fields.join(" "));
  const timezone = fc.constantFrom("UTC", "Asia/Tokyo", "Europe/Berlin", "Australia/Lord_Howe", "Mars/Olympus");
  fc.assert(
    fc.property(cron, timezone, fc.integer({ min: 0, max: 4e12 }), (written, zone, afterMs) => {
      let parsed;
      try {
        parsed = parseCron(written, zone);
      } catch (thrown) {
        expect((thrown as SimfleetError).code).toBe("USAGE");
        return;
      }
      const next = parsed.next(afterMs);
      if (next === undefined) return;
      expect(next).toBeGreaterThan(afterMs);
      expect(parsed.next(next) ?? Infinity).toBeGreaterThan(next);
    }),
    { numRuns },
  );
});

test("any description of operations is read, or refused with problems that name their path", () => {
  const pieces = ["/v1/sims/", "{simId}", "{groupId}", "{before.groupId}", "{", "}", "..", "/", "%2f", "GET", "?", "é"];
  const text = fc.array(fc.constantFrom(...pieces), { maxLength: 5 }).map((some) => some.join(""));
  const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 2 },
      text,
      fc.constantFrom("POST", "safe", "unsafe", "record", "none", "irreversible", true, 200, null, -1, 1e99),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom("groupId", "operation", "set", "statuses", "type", "pattern", "values"),
        tie("any"),
      ),
    ),
  })).any;
  const operation = fc.record(
    {
      summary: value,
      method: value,
      path: value,
      group: value,
      input: value,
      body: value,
      statuses: value,
      answer: value,
      alreadyDone: value,
      sets: value,
      requires: value,
      repeat: value,
      undo: value,
      danger: value,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom("set-group", "x", "A b"), operation, { maxKeys: 3 }), (written) => {
      const parsed = simOperations.safeParse(written);
      if (!parsed.success) {
        for (const { path, message } of parsed.error.issues)
          expect([path.length > 0, message]).toEqual([true, message]);
        return;
      }
      const expected = ["set-speed-class", ...Object.keys(written)];
      expect([...parsed.data.keys()].toSorted()).toEqual(expected.toSorted());
    }),
    { numRuns },
  );
});

/** The names and places of a value, without the texts and numbers in it. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null)
    return typeof value === "number" || typeof value === "string" ? "value" : value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
}

test("any template keeps its shape when it is filled", () => {
  const json: fc.Arbitrary<Json> = fc.letrec<{ any: Json }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      textOf("{a}", "{b.c}", "{", "}", "x") as fc.Arbitrary<Json>,
      fc.constantFrom<Json>(1, true, null),
      fc.array(tie("any"), { maxLength: 3 }) as fc.Arbitrary<Json>,
      fc.dictionary(fc.string({ maxLength: 3 }), tie("any"), { maxKeys: 3 }) as fc.Arbitrary<Json>,
    ),
  })).any;
  fc.assert(
    fc.property(json, fc.option(fc.string(), { nil: undefined }), (template, value) => {
      const names = placeholdersIn(template);
      const filled = fillJson(
        template,
        () => value,
        () => 7,
      );
      if (names.size === 0) expect(filled).toEqual(template);
      if (value !== undefined) expect(shapeOf(filled)).toEqual(shapeOf(template));
    }),
    { numRuns },
  );
});
