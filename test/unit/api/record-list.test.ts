import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RecordList, type RecordOptions } from "#api/record-list.ts";
import { PlatformError } from "#core/errors.ts";

type Sim = Record<string, unknown>;

const names = ["ki", "privateKey", "秘密"];

function termsWith(secrets: readonly string[] = names): RecordOptions<Sim> {
  return {
    operation: "listSims",
    key: "simId",
    secrets: new Set(secrets),
    faultIn: (record) => (typeof (record as Sim)["imsi"] === "number" ? "imsi" : undefined),
  };
}

function read(text: string, secrets?: readonly string[]): RecordList<Sim> | undefined {
  return RecordList.read(termsWith(secrets), Buffer.from(text));
}

function seenOf(list: RecordList<Sim> | undefined, place = 0): string | undefined {
  return list?.bytesWithoutSecrets(place)?.toString("utf8");
}

function without(value: unknown): unknown {
  const text = JSON.stringify(value, (key, inner: unknown) => (names.includes(key) ? undefined : inner));
  return text === undefined ? undefined : JSON.parse(text);
}

function faultOf(work: () => unknown): PlatformError {
  try {
    work();
  } catch (thrown) {
    if (thrown instanceof PlatformError) return thrown;
    throw thrown;
  }
  throw new Error("no fault");
}

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", " ", "\n", "é", "k", "i"), maxLength: 8 }),
  fc.constantFrom("simId", ...names),
);
const { any } = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(text, tie("any"), { maxKeys: 4 }),
  ),
}));
const list = fc.array(
  fc
    .tuple(
      fc.dictionary(text, any, { maxKeys: 4 }),
      fc.string({ unit: fc.constantFrom("8", "9", "A", "-"), minLength: 1 }),
    )
    // The key anywhere among the others, and not as a field called `imsi`, whose type is looked at.
    .map(([others, simId]) => ({ ...others, simId, last: 1 })),
  { maxLength: 5 },
);
const indent = fc.constantFrom(0, 1, 3);

describe("record lists", () => {
  it("a record list yields the same records and keys as a JSON parser for any formatting", () => {
    let compared = 0;
    fc.assert(
      fc.property(list, indent, (records, spaces) => {
        const found = read(JSON.stringify(records, null, spaces));
        if (found === undefined) throw new Error("not read");
        expect(found.keys).toEqual(records.map(({ simId }) => simId));
        for (const place of records.keys()) {
          expect(found.record(place)).toEqual(JSON.parse(JSON.stringify(records[place])));
          compared += 1;
        }
      }),
      { numRuns: 500 },
    );
    expect(compared).toBeGreaterThan(500);
  });

  it("a record list compares records by everything except their secrets", () => {
    let alike = 0;
    fc.assert(
      fc.property(list, list, any, (some, others, secret) => {
        for (const one of some) {
          for (const other of others) {
            const [a, b] = [seenOf(read(JSON.stringify([one]))), seenOf(read(JSON.stringify([other])))];
            if (a === undefined || b === undefined) continue;
            if (a === b) expect(without(one)).toEqual(without(other));
          }
          // Another secret of the same name, at the top and within.
          const [a, b] = ["old", secret].map((ki) =>
            seenOf(read(JSON.stringify([{ ...one, ki, tags: [{ ki, site: "berlin", privateKey: ki }] }]))),
          );
          if (a === undefined || b === undefined) continue;
          expect(a).toBe(b);
          alike += 1;
        }
      }),
      { numRuns: 500 },
    );
    expect(alike).toBeGreaterThan(200);
  });

  it("a record list exposes no byte of a secret at any depth or of any type", () => {
    const record = `{"simId":"1","a":{"b":[{"ki":"XX"}, {"c":1,"ki" : {"d":["XX","}"]},"e":2}]},"秘密":["XX"],"privateKey":null}`;
    const seen = seenOf(read(`[${record}]`));
    expect(seen).not.toContain("XX");
    expect(seen).toContain('"c":1');
    expect(seen).toContain('"e":2');
  });

  it("a record with an escaped field name has no comparable bytes since the name may be that of a secret", () => {
    expect(read(String.raw`[{"simId":"1","k\u0069":"XX"}]`)?.bytesWithoutSecrets(0)).toBeUndefined();
    expect(seenOf(read(String.raw`[{"simId":"1","tags":{"site":"k\u0069 \"ki\":\"x\""}}]`))).toContain("site");
  });

  it("a record keeps values equal to a secret's name and fields whose name is part of one", () => {
    const record = '{"simId":"1","a":"ki","kind":"x","b":["ki","privateKey"]}';
    expect(seenOf(read(`[${record}]`))).toBe(record);
  });

  it("a record has the key a JSON parser would choose when the key is duplicated or also nested", () => {
    expect(read('[{"simId":"1","x":{"simId":"3"},"simId":"2"},{"a":"simId","simId":"4"}]')?.keys).toEqual(["2", "4"]);
  });

  it.each([
    ["an object", '{"simId":"1"}'],
    ["nothing", ""],
    ["a truncated list", '[{"simId":"1"},'],
    ["a truncated list in a record", '[{"simId":"1","a":"'],
    ["a list with something behind it", '[{"simId":"1"}]]'],
    ["a list of lists", '[["simId"]]'],
    ["records with nothing between", '[{"simId":"1"}{"simId":"2"}]'],
    ["a record without its key", '[{"simId":"1"},{"imsi":"2"}]'],
    ["a key that is no text", '[{"simId":1}]'],
    ["a key that is written with escapes", String.raw`[{"simId":"\u0031"}]`],
  ])("a record list rejects %s and leaves it to the JSON parser", (_, body) => {
    expect(read(body)).toBeUndefined();
  });

  it("a record list validates a record only when it is read", () => {
    const found = read('[{"simId":"1"},{"simId":"2","imsi":7},{"simId":"3","a":tru}]');
    expect(found?.record(0)).toEqual({ simId: "1" });
    expect(faultOf(() => found?.record(1))).toMatchObject({ code: "PLATFORM_RESPONSE_INVALID", operation: "listSims" });
    expect(faultOf(() => found?.record(1)).message).toContain("at imsi");
    expect(faultOf(() => found?.record(2)).code).toBe("PLATFORM_UNAVAILABLE");
  });

  it("a record list can be created from parsed records", () => {
    const records = [
      { simId: "1", ki: "x" },
      { simId: "é", n: [1] },
    ];
    const found = RecordList.of(termsWith(), records);
    expect(found.keys).toEqual(["1", "é"]);
    expect(records.map((_, place) => found.record(place))).toEqual(records);
    expect(found.bytesWithoutSecrets(0)).toBeUndefined();
  });
});
