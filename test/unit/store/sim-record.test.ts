import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SimFields, pickFields } from "#fleet/sim/sim-fields.ts";
import { decodeName, decodeValue, encodeName } from "#fleet/sim/field-text.ts";
import { seeds } from "../../support/long.ts";
import { KnownSim, encodeFields, encodeRecord } from "#jobs/inventory/records/sim-record.ts";
import { anyText } from "../../support/any-text.ts";

function recordOf(fields: SimFields, header = "7 sync 1000 2000 -"): string {
  return `${header}\n${encodeFields(fields)}`;
}

function fieldsOf(record: unknown, names: readonly string[]): SimFields {
  return pickFields(record as Record<string, unknown>, { fields: names, secrets: new Set(), places: {} }).fields;
}

const hostile = fc.oneof(
  anyText({ maxLength: 8 }),
  fc.string({
    unit: fc.constantFrom("=", ":", "%", ",", " ", "\n", "\r", "\0", "\u2028", "\u0085", ".", "é", "\ud800"),
    maxLength: 8,
  }),
  fc.constantFrom("", "%", "%41", "100%", "a=b", "a:b", "__proto__", "x".repeat(1_200), "😀".repeat(700)),
);
const { any } = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    hostile,
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(hostile, tie("any"), { maxKeys: 3 }),
  ),
}));
/** As a platform's response is: what JSON can say. */
const record = fc
  .record({ speedClass: hostile, tags: fc.dictionary(hostile, any, { maxKeys: 4 }), a: any })
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);
const names = ["speedClass", "tags", "a"];

describe("SIM records in the store", () => {
  it("a stored SIM record round-trips through UTF-8 for any platform value", () => {
    fc.assert(
      fc.property(record, (value) => {
        const fields = fieldsOf(value, names);
        const stored = Buffer.from(recordOf(fields), "utf8").toString("utf8");
        expect([...new KnownSim(stored).fields]).toEqual([...fields]);
        expect(encodeRecord(value, { fields: names, secrets: new Set(), places: {} })).toBe(encodeFields(fields));
      }),
      { numRuns: seeds(200, 1_000) },
    );
  });

  it("a stored SIM record has one line per field that a script can split at its first = or :", () => {
    fc.assert(
      fc.property(record, (value) => {
        const fields = fieldsOf(value, names);
        const split = [...encodeFields(fields).matchAll(/([^=:\n]+)([=:][^\n]*)/g)];
        expect(split.map(([, name = "", text = ""]) => [decodeName(name), decodeValue(text)])).toEqual([...fields]);
      }),
      { numRuns: seeds(200, 1_000) },
    );
  });
});

describe("encoded field names", () => {
  it("an encoded field name round-trips and contains no separator", () => {
    fc.assert(
      fc.property(hostile, (name) => {
        const encoded = encodeName(name);
        expect(encoded).not.toMatch(/[=:,\s\p{Cc}\u2028\u2029]/u);
        expect(decodeName(Buffer.from(encoded).toString())).toBe(name.toWellFormed());
      }),
    );
  });
});
