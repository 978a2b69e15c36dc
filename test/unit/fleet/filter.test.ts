import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import { type Condition, everySim, hintForNoMatch, matches, parseFilter } from "#fleet/filter.ts";

function conditionsOf(text: string): readonly Condition[] {
  return parseFilter(text).conditions;
}

function faultOf(text: string): string {
  try {
    parseFilter(text);
  } catch (thrown) {
    if (thrown instanceof SimfleetError && thrown.code === "USAGE") return thrown.message;
    throw thrown;
  }
  throw new Error(`${text} can be read`);
}

const field = fc.constantFrom("speedClass", "tags", "tags.site", "in", "and", "exists", "not", "_x-1", "tags.a.b:%é");
const value = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "grapheme", maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('"', "\\", "\n", " ", ",", "(", ")", "=", "!", "a"), maxLength: 8 }),
  fc.constantFrom("and", "in", "exists", "not exists", "s1.fast"),
);
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ kind: fc.constantFrom("equals" as const, "differs" as const), field, value }),
  fc.record({ kind: fc.constant("in" as const), field, values: fc.array(value, { minLength: 1, maxLength: 4 }) }),
  fc.record({ kind: fc.constantFrom("exists" as const, "absent" as const), field }),
);

/** A text for conditions, every value in quotes: not how the parser itself would write it. */
function written(conditions: readonly Condition[]): string {
  const quoted = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`;
  const texts = conditions.map((one) => {
    switch (one.kind) {
      case "equals":
        return `${one.field} = ${quoted(one.value)}`;
      case "differs":
        return `${one.field}!=${quoted(one.value)}`;
      case "in":
        return `${one.field} IN(${one.values.map(quoted).join(" ,")})`;
      case "exists":
        return `${one.field} EXISTS`;
      case "absent":
        return `${one.field} Not \n exists`;
    }
  });
  return texts.join("  AND\t");
}

describe("filter parsing", () => {
  it.each<[string, Condition]>([
    ["speedClass=s1.fast", { kind: "equals", field: "speedClass", value: "s1.fast" }],
    ["tags.site != berlin", { kind: "differs", field: "tags.site", value: "berlin" }],
    ["status in (active,ready)", { kind: "in", field: "status", values: ["active", "ready"] }],
    ["status IN( active , ready )", { kind: "in", field: "status", values: ["active", "ready"] }],
    ["groupId exists", { kind: "exists", field: "groupId" }],
    ["groupId NOT  exists", { kind: "absent", field: "groupId" }],
    ['tags.site="Lyon, quay 4"', { kind: "equals", field: "tags.site", value: "Lyon, quay 4" }],
    ['tags.note="say \\"hi\\" \\\\ bye"', { kind: "equals", field: "tags.note", value: 'say "hi" \\ bye' }],
    ['tags.note=""', { kind: "equals", field: "tags.note", value: "" }],
    ["tags.path=C:\\temp", { kind: "equals", field: "tags.path", value: "C:\\temp" }],
    ["tags.a.b=東京", { kind: "equals", field: "tags.a.b", value: "東京" }],
    ["in in (in)", { kind: "in", field: "in", values: ["in"] }],
    ["exists exists", { kind: "exists", field: "exists" }],
  ])("the filter %s is parsed", (text, only) => expect(conditionsOf(text)).toEqual([only]));

  it("filter conditions are joined by `and` or given as several texts", () => {
    const all = conditionsOf("a=1 AND b exists and and=and");
    expect(all.map((one) => one.field)).toEqual(["a", "b", "and"]);
    expect(parseFilter(["a=1", "b exists and and=and"]).conditions).toEqual(all);
    expect(parseFilter([])).toEqual(everySim);
  });

  it("a filter is shown in one canonical form", () => {
    expect(parseFilter([' a = "1" ', 'b in(x,"y z")AND c NOT EXISTS']).text).toBe(
      'a=1 and b in (x, "y z") and c not exists',
    );
  });

  it("a filter parses the text of any conditions, and its canonical text parses to itself", () => {
    fc.assert(
      fc.property(fc.array(condition, { minLength: 1, maxLength: 5 }), (conditions) => {
        const filter = parseFilter(written(conditions));
        expect(filter.conditions).toEqual(conditions);
        expect(parseFilter(filter.text)).toEqual(filter);
      }),
    );
  });
});

describe("invalid filters", () => {
  it.each([
    ["", "expected a field name at its end"],
    ["   ", "expected a field name at its end"],
    ["=x", 'expected a field name at "=x"'],
    ["1a=x", 'expected a field name at "1a=x"'],
    ["a", "expected an operator (=, !=, in, exists or not exists) at its end"],
    ["a > 3", 'expected an operator (=, !=, in, exists or not exists) at " > 3"'],
    ["a existsx", 'expected an operator (=, !=, in, exists or not exists) at " existsx"'],
    ["a not in (b)", 'expected an operator (=, !=, in, exists or not exists) at " not in (b)"'],
    ["a=", "expected a value (write an empty one as two double quotes) at its end"],
    ["a==b", 'expected a value (write an empty one as two double quotes) at "=b"'],
    ['a="open', 'expected a value (write an empty one as two double quotes) at "\\"open"'],
    ["a in b", 'expected ( at "b"'],
    ["a in ()", 'expected a value (write an empty one as two double quotes) at ")"'],
    ["a in (b,)", 'expected a value (write an empty one as two double quotes) at ")"'],
    ["a in (b c)", 'expected , or ) at " c)"'],
    ["a in (b", "expected , or ) at its end"],
    ["a=b or c=d", 'expected `and` at "or c=d"'],
    ["a=b c=d", 'expected `and` at "c=d"'],
    ["a=b and", "expected a field name at its end"],
    ["a=b and ", "expected a field name at its end"],
    ["a=b and and", "expected an operator (=, !=, in, exists or not exists) at its end"],
    ["(a=b)", 'expected a field name at "(a=b)"'],
    ["tags.site~ber", 'expected an operator (=, !=, in, exists or not exists) at "~ber"'],
    ["tags.site<5", 'exists) at "<5"'],
  ])("the invalid filter %j is refused: %s", (text, place) => expect(faultOf(text)).toContain(place));

  it("a filter error quotes only part of a long text, and a filter over the length limit is refused", () => {
    expect(faultOf(`a=b ${"x".repeat(4_000)}`).length).toBeLessThan(500);
    expect(faultOf(`a=${"x".repeat(4_095)}`)).toContain("is longer than 4096 characters");
    expect(conditionsOf(`a=${"x".repeat(4_094)}`)).toHaveLength(1);
  });

  it("an invalid filter is refused in linear time", () => {
    for (const text of [
      '"'.repeat(4_000),
      `a=${'"\\'.repeat(2_000)}`,
      `a${" ".repeat(4_000)}!`,
      `a in (${"a,".repeat(2_000)}`,
    ]) {
      expect(faultOf(text)).toContain("cannot be read");
    }
  });
});

describe("filter matching", () => {
  const sim = fc.dictionary(field, value, { maxKeys: 5 }).map((fields) => new Map(Object.entries(fields)));
  const holds = (one: Condition, fields: ReadonlyMap<string, string>): boolean =>
    matches({ text: "", conditions: [one] }, (name) => fields.get(name));

  it.each([
    ["a=1", true],
    ["a=2", false],
    ["a!=1", false],
    ["a!=2", true],
    ["b!=1", true],
    ["b=1", false],
    ['b=""', false],
    ["a in (2, 1)", true],
    ["a in (2, 3)", false],
    ["b in (1)", false],
    ["a exists", true],
    ["b exists", false],
    ["a not exists", false],
    ["b not exists", true],
    ["a=1 and b not exists", true],
    ["a=1 and b exists", false],
    ["A=1", false],
  ])("for a SIM with only a=1, the filter %s is %s", (text, expected) => {
    expect(matches(parseFilter(text), (name) => (name === "a" ? "1" : undefined))).toBe(expected);
  });

  it("a filter without conditions matches every SIM", () => expect(matches(everySim, () => undefined)).toBe(true));

  it("a filter matches when all its conditions do, in any order", () => {
    fc.assert(
      fc.property(sim, fc.array(condition, { maxLength: 4 }), (fields, conditions) => {
        const valueOf = (name: string): string | undefined => fields.get(name);
        const all = conditions.every((one) => holds(one, fields));
        expect(matches({ text: "", conditions }, valueOf)).toBe(all);
        expect(matches({ text: "", conditions: conditions.toReversed() }, valueOf)).toBe(all);
      }),
    );
  });
});

it.each([
  ["tags.site=Berlin", "Values are case-sensitive: no SIM has tags.site=Berlin. Did you mean tags.site=berlin?"],
  ["simId exists and tags.site in (osaka, OSLO)", "no SIM has tags.site=OSLO. Did you mean tags.site=oslo?"],
  ["simId=89423*", "A filter has no wildcards: simId=89423* matches only SIMs whose simId contains the * itself."],
])("a filter that matches no SIM is explained: %s", (text, hint) => {
  expect(hintForNoMatch(parseFilter(text), () => ["berlin", "oslo"])).toContain(hint);
});

it.each(["tags.site=berlin", "tags.site=rome", "tags.site!=Berlin", "tags.site not exists"])(
  "a filter without a doubtful value has no explanation: %s",
  (text) => {
    expect(hintForNoMatch(parseFilter(text), () => ["berlin", "Berlin"])).toBeUndefined();
  },
);
