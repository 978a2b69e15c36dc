import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type FieldSelection,
  type SimFields,
  documentOf,
  jsonWithoutSecrets,
  keptFields,
  pickFields,
  secretFields,
  textOf,
  usualFields,
} from "#fleet/sim/sim-fields.ts";

function choiceOf(fields: readonly string[], more: Partial<FieldSelection> = {}): FieldSelection {
  return { fields, secrets: new Set(secretFields), places: {}, ...more };
}

function picked(
  record: unknown,
  fields: readonly string[],
  more: Partial<FieldSelection> = {},
): Record<string, string> {
  const kept = pickFields(record as Record<string, unknown>, choiceOf(fields, more)).fields;
  return Object.fromEntries([...kept].map(([name, value]) => [name, textOf(value)]));
}

/** As it comes from the platform: `__proto__` in it is a name like any other. */
function parsed(json: string): Record<string, unknown> {
  return JSON.parse(json) as Record<string, unknown>;
}

describe("field selection", () => {
  it("a field is kept as text if it is text and as JSON otherwise", () => {
    const { fields } = pickFields({ a: "1", b: 1, c: true, d: ["x"], e: "" }, choiceOf(["a", "b", "c", "d", "e"]));
    expect([...fields]).toEqual([
      ["a", { text: "1" }],
      ["b", { json: "1" }],
      ["c", { json: "true" }],
      ["d", { json: '["x"]' }],
      ["e", { text: "" }],
    ]);
  });

  it("an object field is kept member by member", () => {
    const record = { tags: { site: "berlin", "a.b": "dot", "": "none", deep: { x: 1 } } };
    expect(picked(record, ["tags"])).toEqual({
      "tags.site": "berlin",
      "tags.a.b": "dot",
      "tags.": "none",
      "tags.deep": '{"x":1}',
    });
  });

  it("a single named member of an object is kept", () => {
    const record = { sessionStatus: { online: true, location: { cell: 7 } } };
    expect(picked(record, ["sessionStatus.online", "sessionStatus.location.cell", "sessionStatus.none"])).toEqual({
      "sessionStatus.online": "true",
      "sessionStatus.location.cell": "7",
    });
  });

  it("the mentioned fields of a record include those with null", () => {
    const { fields, mentioned } = pickFields(
      { a: null, b: { c: null }, d: {}, e: 0 },
      choiceOf(["a", "b", "d", "e", "f"]),
    );
    expect(mentioned).toEqual(["a", "b", "d", "e"]);
    expect([...fields.keys()]).toEqual(["e"]);
  });

  it("a record path is used only for a field that the record does not have at its top level", () => {
    const places = { imsi: ["profiles", "*", "primaryImsi"] };
    const profiles = { p: { primaryImsi: "002" } };
    expect(picked({ profiles }, ["imsi"], { places })).toEqual({ imsi: "002" });
    expect(picked({ imsi: "001", profiles }, ["imsi"], { places })).toEqual({ imsi: "001" });
    expect(picked({ profiles: {} }, ["imsi"], { places })).toEqual({});
  });

  it("a long value is truncated to 1,000 characters without splitting one", () => {
    expect(picked({ a: "x".repeat(1_000) }, ["a"]).a).toBe("x".repeat(1_000));
    expect(picked({ a: "x".repeat(1_001) }, ["a"]).a).toBe(`${"x".repeat(1_000)}…`);
    expect(picked({ a: `${"x".repeat(999)}😀😀` }, ["a"]).a).toBe(`${"x".repeat(999)}…`);
    const list = pickFields({ a: Array.from({ length: 900 }, () => "😀") }, choiceOf(["a"])).fields.get("a");
    expect(list).toHaveProperty("text");
    expect(list === undefined ? "" : textOf(list)).toHaveLength(1_001);
  });

  it.each(["two\nlines", "\r", "\t", "\0", "\u001b[31m", "\u0085", "\u2028", "\u2029", "\u009b"])(
    "the text %j with control characters is kept as JSON",
    (text) => expect(pickFields({ a: text }, choiceOf(["a"])).fields.get("a")).toEqual({ json: JSON.stringify(text) }),
  );

  it("a lone surrogate is kept as the replacement character", () => {
    expect(picked({ a: "x\ud83d", tags: { "\udc00": "y" } }, ["a", "tags"])).toEqual({
      a: "x\ufffd",
      "tags.\ufffd": "y",
    });
  });

  it("the fields that operations set are always kept, without the key, duplicates, or members of kept objects", () => {
    const kept = (named: readonly string[], keyColumn: string, ofOperations: readonly string[]): string[] =>
      keptFields(named, { keyColumn, ofOperations });
    expect(kept([...usualFields], "simId", ["speedClass"])).toEqual(usualFields.filter((name) => name !== "simId"));
    expect(kept(["imsi", "status", "status"], "imsi", ["speedClass"])).toEqual(["status", "speedClass"]);
    expect(kept(["tags"], "simId", ["tags.site", "imeiLock.imei"])).toEqual(["tags", "imeiLock.imei"]);
  });
});

describe("secret fields", () => {
  const secret = "do-not-keep";

  it.each<[string, unknown, string[]]>([
    ["as a field that is named", { privateKey: secret }, ["privateKey"]],
    ["as a tag", { tags: { password: secret, psk: { a: secret } } }, ["tags"]],
    ["by a configured name", { arc: { x: { clientSecretKey: secret } } }, ["arc"]],
    ["by a place that names it", { profiles: { p: { psk: secret } } }, ["imsi"]],
  ])("a secret is never kept %s", (_, record, fields) => {
    const more = {
      secrets: new Set([...secretFields, "clientSecretKey"]),
      places: { imsi: ["profiles", "*", "psk"] },
    };
    expect(JSON.stringify(picked(record, fields, more))).not.toContain(secret);
  });

  it("removing a secret leaves the rest of a kept field unchanged", () => {
    const profiles = {
      p: { primaryImsi: "001", arcClientPeerPrivateKey: secret, subscribers: { s: { ki: secret, n: 1 } } },
    };
    expect(picked({ profiles }, ["profiles"])).toEqual({
      "profiles.p": '{"primaryImsi":"001","subscribers":{"s":{"n":1}}}',
    });
  });

  const leaf = fc.oneof(fc.string(), fc.integer(), fc.constant(null));
  const name = fc.oneof(fc.constantFrom(...secretFields, "a", "b", "__proto__"), fc.string({ maxLength: 3 }));
  const { record: anyRecord } = fc.letrec<{ record: unknown; any: unknown }>((tie) => ({
    any: fc.oneof({ depthSize: "small" }, leaf, fc.array(tie("any"), { maxLength: 3 }), tie("record")),
    record: fc.array(fc.tuple(name, tie("any")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  }));

  /** The record with the secret below each secret name. */
  const withSecrets = (record: unknown): Record<string, unknown> =>
    JSON.parse(JSON.stringify(record), (key, inner) => (secretFields.includes(key) ? { x: secret } : inner));

  it("a secret appears nowhere in the kept fields or the digest of any record", () => {
    fc.assert(
      fc.property(anyRecord.map(withSecrets), fc.array(name, { maxLength: 3 }), (record, names) => {
        const fields = ["a", "b", "psk", "psk.x", "a.psk", ...names].filter((text) => text !== "");
        expect(JSON.stringify(picked(record, fields))).not.toContain(secret);
        expect(jsonWithoutSecrets(record, new Set(secretFields))).not.toContain(secret);
      }),
    );
  });

  it("a digest ignores changes of secrets and reflects all others", () => {
    const json = (record: unknown): string => jsonWithoutSecrets(record, new Set(secretFields));
    expect(json({ a: 1, arc: { privateKey: "1" } })).toBe(json({ a: 1, arc: { privateKey: "2" } }));
    expect(json({ a: 1, arc: { privateKey: "1" } })).not.toBe(json({ a: 2, arc: { privateKey: "1" } }));
  });
});

describe("fields as a document", () => {
  it("the document of fields puts members back into their objects", () => {
    const record = { speedClass: "s1.fast", tags: { site: "berlin", "a.b": "dot" }, count: 7, list: [1, { x: null }] };
    const { fields } = pickFields(record, choiceOf(Object.keys(record)));
    expect(documentOf(fields)).toEqual(record);
  });

  it("a field named __proto__ is an own property of the document and pollutes no prototype", () => {
    const record = parsed('{"tags":{"__proto__":"p","constructor":"c"},"__proto__":{"polluted":"yes"}}');
    const { fields } = pickFields(record, choiceOf(["tags", "__proto__", "constructor"]));
    const document = documentOf(fields);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(JSON.parse(JSON.stringify(document))).toEqual(record);
    expect(Object.getPrototypeOf(document)).toBe(Object.prototype);
    expect(Object.keys(document.tags as object).toSorted()).toEqual(["__proto__", "constructor"]);
  });

  it("the document of fields equals the original record of texts and objects of texts", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 20 });
    const inner = fc.dictionary(fc.string({ unit: "grapheme", maxLength: 8 }), text, { minKeys: 1, maxKeys: 4 });
    const top = fc.constantFrom("a", "b", "tags", "__proto__", "constructor", "toString");
    const entries = fc.uniqueArray(fc.tuple(top, fc.oneof(text, inner)), { selector: ([name]) => name, maxLength: 5 });
    fc.assert(
      fc.property(entries, (pairs) => {
        const record = Object.fromEntries(pairs);
        const fields: SimFields = pickFields(record, choiceOf(Object.keys(record))).fields;
        expect(JSON.parse(JSON.stringify(documentOf(fields)))).toEqual(JSON.parse(JSON.stringify(record)));
      }),
    );
  });
});
