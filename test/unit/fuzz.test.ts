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

const oddNumber = fc.oneof(textOf("0", "1", "60", "-", ".", " ", "e9", "9".repeat(16)), fc.nat().map(String));
const header = fc.option(oddNumber, { nil: undefined });

test("any quota headers give a reading within its bounds or none", () => {
  const names = { limit: "x-limit", remaining: "x-remaining", refresh: "x-refresh" } as never;
  fc.assert(
    fc.property(header, header, header, (limit, remaining, refresh) => {
      const headers = { "x-limit": limit, "x-remaining": remaining, "x-refresh": refresh };
      const quota = readQuota(headers, { names, periodMs: 60_000 });
      if (quota === undefined) return;
      expect(Number.isSafeInteger(quota.limit) && quota.limit > 0).toBe(true);
      expect(quota.remaining).toBeGreaterThanOrEqual(0);
      expect(quota.remaining).toBeLessThanOrEqual(quota.limit);
      expect(quota.secondsBeforeRefresh).toBeLessThanOrEqual(60);
    }),
    { numRuns },
  );
});

test("any `Retry-After` is a wait of an hour at most", () => {
  fc.assert(
    fc.property(header, (after) => {
      const afterMs = readRetryAfterMs({ "retry-after": after }, Date.UTC(2026, 0, 1)) ?? 0;
      expect(afterMs).toBeGreaterThanOrEqual(0);
      expect(afterMs).toBeLessThanOrEqual(3_600_000);
    }),
    { numRuns },
  );
});

/** What was read; undefined if it was refused as a usage error. */
function unlessRefused<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    expect((thrown as SimfleetError).code).toBe("USAGE");
    return undefined;
  }
}

const operands = ["speedClass", "tags.site", "30d ago", "500MB", '"', "\\"];
const operators = ["=", "!=", "<=", "^=", " in ", "exists", " and ", " or ", "not ", "not (", "(", ")", ","];

test("any text is a filter that can be written down and read again, or a usage error", () => {
  const record = fc.dictionary(fc.string(), fc.string());
  fc.assert(
    fc.property(textOf(...operands, ...operators), record, (written, values) => {
      const filter = unlessRefused(() => parseFilter(written));
      if (filter === undefined) return;
      expect(parseFilter(filter.text)).toEqual(filter);
      expect(typeof matches(filter, (field) => values[field], 0)).toBe("boolean");
    }),
    { numRuns },
  );
});

const cronField = fc.oneof(
  fc.constantFrom("*", "0", "*/5", "1-5", "L", "?", "60", "7", "MON", "1,2", "#", "H"),
  textOf("1", "/"),
);
const cron = fc.array(cronField, { maxLength: 7 }).map((fields) => fields.join(" "));
const timezone = fc.constantFrom("UTC", "Asia/Tokyo", "Europe/Berlin", "Australia/Lord_Howe", "Mars/Olympus");

test("any cron expression has later and later times, or is a usage error", () => {
  fc.assert(
    fc.property(cron, timezone, fc.integer({ min: 0, max: 4e12 }), (written, zone, afterMs) => {
      const parsed = unlessRefused(() => parseCron(written, zone));
      const next = parsed?.next(afterMs);
      if (next === undefined) return;
      expect(next).toBeGreaterThan(afterMs);
      expect(parsed?.next(next) ?? Infinity).toBeGreaterThan(next);
    }),
    { numRuns },
  );
});

const pathPieces = [
  "/v1/sims/",
  "{simId}",
  "{before.groupId}",
  "{groupId}",
  "{",
  "}",
  "..",
  "/",
  "%2f",
  "GET",
  "?",
  "é",
];
const operationPart: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 2 },
    fc.array(fc.constantFrom(...pathPieces), { maxLength: 5 }).map((some) => some.join("")),
    fc.constantFrom("POST", "safe", "unsafe", "record", "none", "irreversible", true, 200, null, -1, 1e99),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("groupId", "operation", "set", "statuses", "type", "pattern", "values"), tie("any")),
  ),
})).any;
const ofRequest = ["summary", "method", "path", "group", "input", "body", "statuses", "answer"];
const ofEffect = ["alreadyDone", "sets", "requires", "repeat", "undo", "danger"];
const operation = fc.record(Object.fromEntries([...ofRequest, ...ofEffect].map((name) => [name, operationPart])), {
  requiredKeys: [],
});
const operations = fc.dictionary(fc.constantFrom("set-group", "x", "A b"), operation, { maxKeys: 3 });

test("any description of operations is read, or refused with problems that name their path", () => {
  fc.assert(
    fc.property(operations, (written) => {
      const parsed = simOperations.safeParse(written);
      if (!parsed.success) {
        for (const { path, message } of parsed.error.issues) expect(path, message).not.toEqual([]);
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

const json: fc.Arbitrary<Json> = fc.letrec<{ any: Json }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    textOf("{a}", "{b.c}", "{", "}", "x") as fc.Arbitrary<Json>,
    fc.constantFrom<Json>(1, true, null),
    fc.array(tie("any"), { maxLength: 3 }) as fc.Arbitrary<Json>,
    fc.dictionary(fc.string({ maxLength: 3 }), tie("any"), { maxKeys: 3 }) as fc.Arbitrary<Json>,
  ),
})).any;

test("any template keeps its shape when it is filled", () => {
  const seven = (): number => 7;
  fc.assert(
    fc.property(json, fc.option(fc.string(), { nil: undefined }), (template, value) => {
      const filled = fillJson(template, () => value, seven);
      if (placeholdersIn(template).size === 0) expect(filled).toEqual(template);
      if (value !== undefined) expect(shapeOf(filled)).toEqual(shapeOf(template));
    }),
    { numRuns },
  );
});
