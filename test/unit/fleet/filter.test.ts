import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import {
  type Condition,
  type Expression,
  conditionsIn,
  everySim,
  hintForNoMatch,
  matches,
  parseFilter,
} from "#fleet/filter.ts";

function conditionsOf(text: string): readonly Condition[] {
  return conditionsIn(parseFilter(text).expression);
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

const field = fc.constantFrom(
  "speedClass",
  "tags",
  "tags.site",
  "in",
  "and",
  "exists",
  "not",
  "_x-1",
  "tags.a.b:%é",
  "tags.a^b",
  "or",
);
const value = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "grapheme", maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('"', "\\", "\n", " ", ",", "(", ")", "=", "!", "<", "^", "a"), maxLength: 8 }),
  fc.constantFrom("and", "in", "exists", "not exists", "s1.fast"),
);
const bound = fc.constantFrom<Pick<Condition, "values" | "bound">>(
  { values: ["7"], bound: { number: 7 } },
  { values: ["-1.5"], bound: { number: -1.5 } },
  { values: ["500MB"], bound: { number: 500_000_000 } },
  { values: ["2026-01-01"], bound: { timeMs: Date.UTC(2026, 0, 1) } },
  { values: ["2026-01-01 08:00"], bound: { timeMs: Date.UTC(2026, 0, 1, 8) } },
  { values: ["30d ago"], bound: { ageMs: 30 * 86_400_000 } },
);
const comparison = fc.tuple(field, fc.constantFrom("<" as const, "<=" as const, ">" as const, ">=" as const), bound);
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("=" as const, "!=" as const, "^=" as const),
    field,
    values: fc.array(value, { minLength: 1, maxLength: 1 }),
  }),
  comparison.map(([of, kind, to]) => ({ kind, field: of, ...to })),
  fc.record({ kind: fc.constant("in" as const), field, values: fc.array(value, { minLength: 1, maxLength: 4 }) }),
  fc.record({ kind: fc.constantFrom("exists" as const, "not exists" as const), field, values: fc.constant([]) }),
);

const { expression } = fc.letrec<{ expression: Expression }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4 },
    condition,
    fc.record({ kind: fc.constant("not" as const), part: tie("expression") }),
    fc.record({
      kind: fc.constantFrom("and" as const, "or" as const),
      parts: fc.array(tie("expression"), { minLength: 1, maxLength: 3 }),
    }),
  ),
}));

/** A text with everything in parentheses and every value in quotes: not how the parser itself would write it. */
function written(one: Expression): string {
  const quoted = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`;
  switch (one.kind) {
    case "and":
      return one.parts.map((part) => `(${written(part)})`).join("  AND\t");
    case "or":
      return one.parts.map((part) => `( ${written(part)} )`).join("OR");
    case "not":
      return `NOT (${written(one.part)})`;
    case "in":
      return `${one.field} IN(${one.values.map(quoted).join(" ,")})`;
    case "exists":
      return `${one.field} EXISTS`;
    case "not exists":
      return `${one.field} Not \n exists`;
    default:
      return `${one.field} ${one.kind}${one.values.map(quoted).join("")}`;
  }
}

/** Without an `and` in an `and`, an `or` in an `or`, and either of one part. */
function flat(one: Expression): Expression {
  if (one.kind === "not") return { kind: "not", part: flat(one.part) };
  if (!("parts" in one)) return one;
  const parts = one.parts.map(flat).flatMap((part) => (part.kind === one.kind ? part.parts : [part]));
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : { kind: one.kind, parts };
}

describe("filter parsing", () => {
  it.each<[string, Condition]>([
    ["speedClass=s1.fast", { kind: "=", field: "speedClass", values: ["s1.fast"] }],
    ["tags.site != berlin", { kind: "!=", field: "tags.site", values: ["berlin"] }],
    ["status in (active,ready)", { kind: "in", field: "status", values: ["active", "ready"] }],
    ["status IN( active , ready )", { kind: "in", field: "status", values: ["active", "ready"] }],
    ["tags.path=C:\\temp", { kind: "=", field: "tags.path", values: ["C:\\temp"] }],
    ["tags.a.b=東京", { kind: "=", field: "tags.a.b", values: ["東京"] }],
    ["in in (in)", { kind: "in", field: "in", values: ["in"] }],
  ])("the filter %s is parsed", (text, only) => expect(conditionsOf(text)).toEqual([only]));

  it("filter conditions are joined by `and` or given as several texts", () => {
    const all = conditionsOf("a=1 AND b exists and and=and");
    expect(all.map((one) => one.field)).toEqual(["a", "b", "and"]);
    expect(conditionsIn(parseFilter(["a=1", "b exists and and=and"]).expression)).toEqual(all);
    expect(parseFilter([])).toEqual(everySim);
  });

  it("a filter is shown as written, and several texts as one", () => {
    expect(parseFilter(' a = "1" ').text).toBe('a = "1"');
    expect(parseFilter(["a=1 OR b=2", " not (c exists) "]).text).toBe("(a=1 OR b=2) and not (c exists)");
  });

  it("`and` binds before `or`, parentheses group, and several texts are each whole", () => {
    const [a, b, c] = conditionsOf("a=1 and b=2 and c=3");
    expect(parseFilter("a=1 or b=2 and c=3").expression).toEqual({
      kind: "or",
      parts: [a, { kind: "and", parts: [b, c] }],
    });
    const grouped = { kind: "and", parts: [{ kind: "or", parts: [a, b] }, c] };
    expect(parseFilter("(a=1 or b=2) and c=3").expression).toEqual(grouped);
    expect(parseFilter(["a=1 or b=2", "c=3"]).expression).toEqual(grouped);
  });

  it("`not` negates parentheses, and is a field's name elsewhere", () => {
    const [one] = conditionsOf("not=1");
    expect(parseFilter("not(not=1)").expression).toEqual({ kind: "not", part: one });
    expect(conditionsOf("not not exists and not in (1)").map(({ kind, field: of }) => [of, kind])).toEqual([
      ["not", "not exists"],
      ["not", "in"],
    ]);
  });

  const limits: [filter: string, bound: object][] = [
    ["a<5", { number: 5 }],
    ["a<0.5KB", { number: 500 }],
    ['a<"500MB"', { number: 500_000_000 }],
    ["a<1.1GB", { number: 1_100_000_000 }],
    ["a<2TB", { number: 2_000_000_000_000 }],
    ["a<8B", { number: 8 }],
    ["a<2026-01-01", { timeMs: Date.UTC(2026, 0, 1) }],
    ["a<2026-01-01T08:00+09:00", { timeMs: Date.UTC(2025, 11, 31, 23) }],
    ["a<2026-01-01T08:00", { timeMs: Date.UTC(2026, 0, 1, 8) }],
    ["a<90s ago", { ageMs: 90_000 }],
    ["a<30m ago", { ageMs: 1_800_000 }],
    ["a<1.5h AGO", { ageMs: 5_400_000 }],
    ["a<30d ago", { ageMs: 2_592_000_000 }],
    ["a<2w ago", { ageMs: 1_209_600_000 }],
  ];

  it.each(limits)("the filter %s compares with %j", (text, to) =>
    expect(conditionsOf(text)).toMatchObject([{ bound: to }]),
  );

  it("a date or time in a filter is UTC without an offset, whatever the machine's time zone", () => {
    vi.stubEnv("TZ", "Asia/Tokyo");
    onTestFinished(() => void vi.unstubAllEnvs());
    const timeMs = Date.UTC(2026, 0, 1);
    expect(conditionsOf("a<2026-01-01 and a<2026-01-01T00:00")).toMatchObject([
      { bound: { timeMs } },
      { bound: { timeMs } },
    ]);
  });

  it("a filter parses the text of any expression, also joined with others", () => {
    fc.assert(
      fc.property(expression, (any) => {
        const filter = parseFilter(written(any));
        expect(filter.expression).toEqual(flat(any));
        const both = parseFilter([filter.text, "a=1 or b=2"]);
        expect(parseFilter(both.text).expression).toEqual(both.expression);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("invalid filters", () => {
  const operators = "(=, !=, <, <=, >, >=, ^=, in, exists or not exists)";
  const noValue = "expected a value (write an empty one as two double quotes)";
  const faults: [text: string, fault: string][] = [
    ["", "expected a field name or ( at its end (character 1)"],
    ["   ", "expected a field name or ( at its end (character 4)"],
    ["=x", 'expected a field name or ( at "=x" (character 1)'],
    ["1a=x", 'expected a field name or ( at "1a=x"'],
    ["a", `expected an operator ${operators} at its end (character 2)`],
    ["a ~ 3", `expected an operator ${operators} at " ~ 3" (character 2)`],
    ["a existsx", `expected an operator ${operators} at " existsx"`],
    ["a not in (b)", `expected an operator ${operators} at " not in (b)"`],
    ["not a=b", `expected ( or an operator ${operators} at " a=b" (character 4)`],
    ["a=", `${noValue} at its end (character 3)`],
    ["a==b", `${noValue} at "=b"`],
    ['a="open', `${noValue} at "\\"open"`],
    ["a<", `${noValue} at its end`],
    ["a in b", 'expected ( at "b"'],
    ["a in ()", `${noValue} at ")"`],
    ["a in (b,)", `${noValue} at ")"`],
    ["a in (b c)", 'expected , or ) at " c)"'],
    ["a in (b", "expected , or ) at its end"],
    ["a=b c=d", 'expected `and` or `or` at "c=d" (character 5)'],
    ["東京=a", 'expected a field name or ( at "東京=a" (character 1)'],
    ["a=東京𠮷 c=d", 'expected `and` or `or` at "c=d" (character 7)'],
    ["a=b xor c=d", 'expected `and` or `or` at "xor c=d"'],
    ["a=b)", 'expected `and` or `or` at ")" (character 4)'],
    ["a=b and", "expected a field name or ( at its end"],
    ["a=b or ", "expected a field name or ( at its end"],
    ["a=b and and", `expected an operator ${operators} at its end`],
    ["()", 'expected a field name or ( at ")" (character 2)'],
    ["(a=b", "expected `and`, `or` or ) at its end (character 5)"],
    ["(a=b c=d)", 'expected `and`, `or` or ) at " c=d)" (character 5)'],
    ["tags.site~ber", `expected an operator ${operators} at "~ber"`],
    ["tags.site^5", `expected an operator ${operators} at "^5"`],
  ];

  it.each(faults)("the invalid filter %j is refused: %s", (text, place) => expect(faultOf(text)).toContain(place));

  const bounds = "a number, a size such as 500MB, a date or time such as 2026-01-01, or an age such as 30d ago";
  it.each([
    ["a<b", `expected ${bounds} at "b" (character 3)`],
    ['a<""', `expected ${bounds} at "\\"\\"" (character 3)`],
    ["a<2026-13-01", `expected ${bounds} at "2026-13-01"`],
    ["a<2026-02-30", `expected ${bounds} at "2026-02-30"`],
    ["usage.month>500XB", 'expected a unit of a size (B, KB, MB, GB, TB) at "XB" (character 16)'],
    ["usage.month>500mb", 'expected a unit of a size (B, KB, MB, GB, TB) at "mb" (character 16)'],
    ["a<1constructor", "expected a unit of a size (B, KB, MB, GB, TB)"],
    ["a>30y ago", 'expected a unit of an age (s, m, h, d, w) at "y ago" (character 5)'],
    ["a>30 ago", 'expected a unit of an age (s, m, h, d, w) at " ago" (character 5)'],
    ["a>30d", "expected `ago` after the age 30d at its end (character 6)"],
    ["a>30d or b=1", 'expected `ago` after the age 30d at " or b=1" (character 6)'],
  ])("the invalid comparison %j is refused: %s", (text, place) => expect(faultOf(text)).toContain(place));

  it("a filter has at most 100 conditions and 20 levels of parentheses, also in several texts", () => {
    const many = (count: number): string => Array.from({ length: count }, () => "a=1").join(" or ");
    expect(conditionsOf(many(100))).toHaveLength(100);
    expect(faultOf(many(101))).toContain('expected at most 100 conditions at "a=1" (character 701)');
    expect(() => parseFilter([many(50), many(51)])).toThrow("expected at most 100 conditions");
    const deep = (levels: number): string => `${"not (".repeat(levels)}a=1${")".repeat(levels)}`;
    expect(conditionsOf(deep(20))).toHaveLength(1);
    expect(faultOf(deep(21))).toContain("expected at most 20 levels of parentheses");
  });

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
      "(".repeat(4_000),
      `a=1${" ".repeat(4_000)}o`,
      `a<${"9".repeat(4_000)}x`,
      `a<1d${" ".repeat(4_000)}ag`,
    ]) {
      expect(faultOf(text)).toContain("cannot be read");
    }
  });
});

describe("filter matching", () => {
  const sim = fc.dictionary(field, value, { maxKeys: 5 }).map((fields) => new Map(Object.entries(fields)));
  const holds = (one: Condition, fields: ReadonlyMap<string, string>): boolean =>
    matches({ expression: one }, (name) => fields.get(name), 0);

  const ofOne: [filter: string, matches: boolean][] = [
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
    ["a=2 or a=1", true],
    ["a=1 and (b=1 or a=2)", false],
    ["a=1 or b=1 and a=2", true],
    ["not (a=1)", false],
    ["not (a=1 and b=1)", true],
    ["not (b=1)", true],
    ["a^=1", true],
    ['a^=""', true],
    ["a^=12", false],
    ["b^=1", false],
    ["a<2 and a<=1 and a>=1 and a>0.5", true],
    ["a<1 or a>1", false],
    ["a<1KB", true],
    ["b<5 or b>=5", false],
    ["not (b<5)", true],
  ];

  it.each(ofOne)("for a SIM with only a=1, the filter %s is %s", (text, expected) => {
    expect(matches(parseFilter(text), (name) => (name === "a" ? "1" : undefined), 0)).toBe(expected);
  });

  it("a filter without conditions matches every SIM", () => expect(matches(everySim, () => undefined, 0)).toBe(true));

  it("a filter matches when all its conditions do, in any order", () => {
    fc.assert(
      fc.property(sim, fc.array(condition, { maxLength: 4 }), (fields, parts) => {
        const valueOf = (name: string): string | undefined => fields.get(name);
        const all = parts.every((one) => holds(one, fields));
        expect(matches({ expression: { kind: "and", parts } }, valueOf, 0)).toBe(all);
        expect(matches({ expression: { kind: "and", parts: parts.toReversed() } }, valueOf, 0)).toBe(all);
      }),
    );
  });

  const nowMs = Date.UTC(2026, 5, 30);
  const hour = 3_600_000;
  const ofValues: [value: string, filter: string, matches: boolean][] = [
    ["500000001", "v>500MB", true],
    ["500000000", "v>500MB", false],
    ["5e+21", "v>500TB", true],
    ["8942310000000000011", "v>8942310000000000010", true],
    ["8942310000000000011", "v<=8942310000000000010", false],
    ["9", "v<10", true],
    ["", "v<10 or v>=10", false],
    ["{}", "v<10 or v>=10", false],
    ["0x10", "v<10 or v>=10", false],
    ["12 apples", "v<10 or v>=10", false],
    ["true", "v<2026-01-01 or v>=2026-01-01", false],
    [String(nowMs - hour), "v>2h ago and v<30m ago", true],
    [String(nowMs - hour), "v>30m ago", false],
    ["2026-06-29T23:00:00.000Z", "v>2h ago and v<30m ago", true],
    ["2026-06-30T08:00+09:00", "v=1 or v>=1h ago and v<=1h ago", true],
    ["2025-12-31", "v<2026-01-01", true],
    ["2026-01-01", "v<2026-01-01", false],
    ["2026-01-01T00:00:00Z", "v>5", false],
  ];

  it.each(ofValues)("at the end of June 2026 the value %j meets %s: %s", (value_, text, expected) => {
    expect(matches(parseFilter(text), () => value_, nowMs)).toBe(expected);
  });

  it("the age in a filter is kept as written, and counts from each evaluation", () => {
    const filter = parseFilter(`at>30d ago`);
    const ofDay = (day: number): string => String(nowMs + day * 24 * hour);
    expect(filter.text).toBe("at>30d ago");
    expect(matches(filter, () => ofDay(-29), nowMs)).toBe(true);
    expect(matches(filter, () => ofDay(-29), nowMs + 2 * 24 * hour)).toBe(false);
  });
});

it.each([
  ["tags.site=Berlin", "Values are case-sensitive: no SIM has tags.site=Berlin. Did you mean tags.site=berlin?"],
  ["simId exists and tags.site in (osaka, OSLO)", "no SIM has tags.site=OSLO. Did you mean tags.site=oslo?"],
  ["simId=89423*", "A filter has no wildcards: simId=89423* matches only SIMs whose simId contains the * itself."],
  ["not (simId=89423*)", "simId^=89423 selects by how the value begins."],
])("a filter that matches no SIM is explained: %s", (text, hint) => {
  expect(hintForNoMatch(parseFilter(text), () => ["berlin", "oslo"])).toContain(hint);
});

it.each(["tags.site=berlin", "tags.site=rome", "tags.site!=Berlin", "tags.site not exists"])(
  "a filter without a doubtful value has no explanation: %s",
  (text) => {
    expect(hintForNoMatch(parseFilter(text), () => ["berlin", "Berlin"])).toBeUndefined();
  },
);
