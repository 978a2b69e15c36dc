import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { type Condition, type Filter, matches, parseFilter } from "#fleet/filter.ts";
import { type SimFields, pickFields, secretFields, textOf, usualFields } from "#fleet/sim/sim-fields.ts";
import { defaultOptions } from "#sandbox/options.ts";
import { Sims } from "#sandbox/sims/sims.ts";
import { Signatures, prefilter, simsPerChunk } from "#jobs/inventory/records/signature.ts";
import {
  type CodeBook,
  type CodeLookup,
  type Column,
  codedFields,
  isWide,
} from "#jobs/inventory/records/value-codes.ts";

const signatures = new Signatures();

/** A dictionary in one piece. @param narrow the fields that have narrow columns */
class Dictionary implements CodeBook {
  readonly #narrow: readonly string[];
  readonly #codes: (column: number, value: string) => number;

  constructor(narrow: readonly string[], codes: (column: number, value: string) => number) {
    this.#narrow = narrow;
    this.#codes = codes;
  }

  get columnsGiven(): number {
    return this.#narrow.length;
  }

  columnOf(field: string): Column | undefined {
    const index = [...codedFields, ...this.#narrow].indexOf(field);
    return index === -1 ? undefined : { field, index };
  }

  codeOf({ index }: Column, value: string): number {
    return this.#codes(index, value);
  }

  note(): void {
    // This one learns nothing.
  }

  /** As a filter sees it: it gets no code that stands for several values. */
  get lookup(): CodeLookup {
    const codeOf = (field: string, value: string): number => {
      const column = this.columnOf(field);
      const code = column === undefined ? 0 : this.#codes(column.index, value);
      return column !== undefined && !isWide(column.index) && code === 2 ? 0 : code;
    };
    return { columnOf: (field) => this.columnOf(field)?.index ?? -1, codeOf };
  }
}

const narrowFields = ["a", "a.b", "b", "tags.x", "tags"];

/** Has codes for some values only, as one that is still being filled does; narrow columns are full after three values. */
function dictionary(): Dictionary {
  const wide = new Map<string, number>();
  const narrow = new Map<string, number>();
  return new Dictionary(narrowFields, (column, value) => {
    const codes = isWide(column) ? wide : narrow;
    const item = `${column}=${value}`;
    const inColumn = [...narrow.keys()].filter((key) => key.startsWith(`${column}=`)).length;
    const next = isWide(column) ? wide.size + 1 : inColumn < 4 ? inColumn + 2 : 2;
    const code = codes.get(item) ?? (codes.size % 2 === 0 && next !== 2 ? 0 : next);
    codes.set(item, code);
    return code;
  });
}

const noCodes = new Dictionary([], () => 0);

function fieldsOf(record: unknown, names: readonly string[]): SimFields {
  return pickFields(record as Record<string, unknown>, { fields: names, secrets: new Set(), places: {} }).fields;
}

/** A field's value as filters see it: an object is there when it has a member, and has no text of its own. */
function valueIn(fields: SimFields): (name: string) => string | undefined {
  return (name) => {
    const own = fields.get(name);
    if (own !== undefined) return textOf(own);
    return [...fields.keys()].some((other) => other.startsWith(`${name}.`)) ? "{}" : undefined;
  };
}

function prefiltersOf(filter: Filter, sims: readonly SimFields[]): string[] {
  const codes = dictionary();
  const see = prefilter(filter, Buffer.from(sims.map((fields) => signatures.of(fields, codes)).join("")), codes.lookup);
  return sims.map((_, place) => see(place));
}

describe("SIM signatures", () => {
  it("a signature is 52 printable characters that scripts can concatenate", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 5 });
    fc.assert(
      fc.property(fc.dictionary(text, text), (tags) => {
        expect(signatures.of(fieldsOf({ tags }, ["tags"]), noCodes)).toMatch(/^[0-o]{52}$/);
      }),
    );
    expect(signatures.of(new Map(), noCodes)).toBe("0".repeat(32) + "01".repeat(4) + "0".repeat(12));
    expect(signatures.of(new Map(), new Dictionary(["a", "b"], () => 0)).slice(40)).toBe("11".padEnd(12, "0"));
  });

  it("a signature is the same in every process and independent of earlier signatures", () => {
    const fields = fieldsOf({ speedClass: "s1.fast", tags: { site: "berlin" } }, ["speedClass", "tags"]);
    const first = new Signatures().of(fields, noCodes);
    const other = new Signatures();
    for (let i = 0; i < 30_000; i += 1) other.of(new Map([[`f${i}`, { text: String(i) }]]), noCodes);
    expect(other.of(fields, noCodes)).toBe(first);
  });

  it("a missing SIM has the signature of a SIM without fields", () => {
    const see = prefilter(parseFilter("a=1"), Buffer.alloc(0), noCodes.lookup);
    expect(see(simsPerChunk - 1)).toBe("differs");
    expect(prefilter(parseFilter("a not exists"), Buffer.alloc(0), noCodes.lookup)(0)).toBe("matches");
  });
});

describe("signature codes", () => {
  const codes = new Map([
    ["0=a", 2],
    ["0=b", 3],
    ["1=a", 4],
    ["4=oslo", 3],
    ["4=rome", 2],
    ["4=pisa", 2],
  ]);
  const known = new Dictionary(["tags.site"], (column, value) => codes.get(`${column}=${value}`) ?? 0);
  const seenIn = (records: readonly Record<string, unknown>[], text: string): string[] => {
    const sims = records.map((record) => fieldsOf(record, ["speedClass", "status", "tags"]));
    const chunk = Buffer.from(sims.map((one) => signatures.of(one, known)).join(""));
    const seen = prefilter(parseFilter(text), chunk, known.lookup);
    return sims.map((_, place) => seen(place));
  };
  const see = (text: string): string[] =>
    seenIn([{ speedClass: "a" }, { speedClass: "b", status: "a" }, {}, { speedClass: "c" }], text);

  it("narrow signature codes distinguish a value without a code from a missing value", () => {
    // oslo has a code; rome and pisa never get one; lima has none yet.
    const of = (text: string): string[] =>
      seenIn([{ tags: { site: "oslo" } }, { tags: { site: "rome" } }, {}, { tags: { site: "lima" } }], text);
    expect(of("tags.site=oslo")).toEqual(["matches", "differs", "differs", "differs"]);
    expect(of("tags.site!=oslo")).toEqual(["differs", "matches", "matches", "matches"]);
    expect(of("tags.site=rome")).toEqual(["differs", "may-match", "differs", "differs"]);
    expect(of("tags.site!=rome")).toEqual(["matches", "may-match", "matches", "matches"]);
    expect(of("tags.site!=pisa")).toEqual(["matches", "matches", "matches", "matches"]);
    expect(of("tags.site in (oslo, pisa)")).toEqual(["matches", "differs", "differs", "differs"]);
    expect(of("tags.site exists")).toEqual(["matches", "matches", "differs", "may-match"]);
    expect(of("tags.site not exists")).toEqual(["differs", "differs", "matches", "may-match"]);
  });

  it("signature codes follow a dictionary that gained a column", () => {
    const given = ["tags.site"];
    const growing = new Dictionary(given, () => 5);
    const sim = fieldsOf({ tags: { site: "oslo", floor: "2" } }, ["tags"]);
    expect(signatures.of(sim, growing).slice(40, 42)).toBe("50");
    given.push("tags.floor");
    expect(signatures.of(sim, growing).slice(40, 42)).toBe("55");
    expect(signatures.of(new Map(), growing).slice(40, 42)).toBe("11");
  });

  it("signature codes decide known values and leave the others to a lookup", () => {
    // The last SIM's class has no code yet: only its bits are known.
    expect(see("speedClass=a")).toEqual(["matches", "differs", "differs", "differs"]);
    expect(see("speedClass!=a")).toEqual(["differs", "matches", "matches", "matches"]);
    expect(see("speedClass=c")).toEqual(["differs", "differs", "differs", "may-match"]);
    expect(see("speedClass!=c")).toEqual(["matches", "matches", "matches", "may-match"]);
    expect(see("speedClass in (b, c)")).toEqual(["differs", "matches", "differs", "may-match"]);
    expect(see("status exists")).toEqual(["differs", "matches", "differs", "differs"]);
    expect(see("status not exists")).toEqual(["matches", "differs", "matches", "matches"]);
  });

  it("signature codes stay unchanged by a response without the field", () => {
    const answer = signatures.ofAnswer(fieldsOf({ speedClass: "a" }, ["speedClass"]), ["speedClass"]);
    expect(answer.slice(32)).toBe("00~~~~~~" + "~".repeat(12));
    const whole = signatures.ofAnswer(fieldsOf({ status: "a", tags: {} }, ["status", "tags"]), ["status", "tags"]);
    expect(whole.slice(32)).toBe("~~00~~~~" + "0".repeat(12));
  });
});

describe("signature filters", () => {
  const name = fc.constantFrom("a", "b", "a.b", "a.b.c", "a.b.c.d", "tags", "tags.x", "status", "groupId");
  const text = fc.oneof(
    fc.constantFrom("", "1", "2", "true", "null", "{}", "[]", '{"c":1}', "x"),
    fc.string({ unit: "grapheme", maxLength: 4 }),
  );
  const leaf = fc.oneof(text, fc.integer({ min: 0, max: 3 }), fc.boolean(), fc.constant(null));
  const { any } = fc.letrec<{ any: unknown }>((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc.dictionary(fc.constantFrom("a", "b", "c", "d", "x", "b.c", "", "é"), tie("any"), { maxKeys: 3 }),
    ),
  }));
  const record = fc.dictionary(fc.constantFrom("a", "b", "tags", "a.b"), any, { maxKeys: 4 });
  const condition: fc.Arbitrary<Condition> = fc.oneof(
    fc.record({ kind: fc.constantFrom("equals" as const, "differs" as const), field: name, value: text }),
    fc.record({
      kind: fc.constant("in" as const),
      field: name,
      values: fc.array(text, { minLength: 1, maxLength: 4 }),
    }),
    fc.record({ kind: fc.constantFrom("exists" as const, "absent" as const), field: name }),
  );

  /** Conditions that the SIM itself suggests: they hold, or fail, more often than those out of the air. */
  function near(fields: SimFields, pick: number): Condition[] {
    const own = [...fields].flatMap(([field, value]): [string, string][] => {
      const steps = field.split(".").map((_, i, all) => all.slice(0, i + 1).join("."));
      return [...steps.map((step): [string, string] => [step, "{}"]), [field, textOf(value)]];
    });
    const chosen = own[pick % Math.max(1, own.length)];
    if (chosen === undefined) return [];
    const [field, value] = chosen;
    return [
      { kind: "equals", field, value },
      { kind: "differs", field, value },
      { kind: "in", field, values: ["no", value] },
      { kind: "exists", field },
      { kind: "absent", field },
    ];
  }

  it("a signature filter never excludes a match and is certain only when it is right", () => {
    const fieldNames = fc.uniqueArray(name, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(record, fieldNames, fc.array(condition, { maxLength: 3 }), fc.nat(100), (any_, names, some, pick) => {
        const fields = fieldsOf(any_, names);
        const filters = [some, ...[...some, ...near(fields, pick)].map((one) => [one])];
        for (const conditions of filters) {
          const filter = { text: "", conditions };
          const holds = matches(filter, valueIn(fields));
          const [seen] = prefiltersOf(filter, [fields]);
          if (holds) expect(seen, JSON.stringify(conditions)).not.toBe("differs");
          else expect(seen, JSON.stringify(conditions)).not.toBe("matches");
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("a signature filter refers to the SIM at its position in the chunk", () => {
    const sims = ["a", "b", "a", "c"].map((status) => fieldsOf({ status }, ["status"]));
    expect(prefiltersOf(parseFilter("status=a"), sims)).toEqual(["may-match", "differs", "may-match", "differs"]);
  });
});

describe("signatures of 10,000 SIMs with default fields", () => {
  const fleet = new Sims({ ...defaultOptions, clock: systemClock, sims: 10_000 });
  const choice = { fields: usualFields.slice(1), secrets: new Set(secretFields), places: {} };
  const sims = Array.from({ length: 10_000 }, (_, i) => {
    const record = { ...fleet.recordAt(i), subscription: i % 3 === 0 ? "plan01s" : "plan-D" };
    return pickFields(record, choice).fields;
  });
  const chunk = Buffer.from(sims.map((fields) => signatures.of(fields, noCodes)).join(""));

  it.for([
    "speedClass=s1.none",
    "speedClass in (s1.none, s1.other)",
    "status=terminated",
    "groupId=00000000-0000-4000-8000-000000000000",
    "tags.site=oslo",
    "tags.name=sim-10001",
    "tags.none exists",
    "imsi=001010123456789",
    "subscription=plan-K2",
    "speedClass=s1.fast and tags.site=oslo",
    "speedClass=s1.slow and status=inactive",
    `imsi=${fleet.imsiAt(7)}`,
  ])("the filter %s looks up fewer than 5% of 10,000 SIMs unnecessarily", async (text, { annotate }) => {
    const filter = parseFilter(text);
    const see = prefilter(filter, chunk, noCodes.lookup);
    const seen = sims.map((_, place) => see(place));
    const vain = sims.filter((fields, place) => seen[place] !== "differs" && !matches(filter, valueIn(fields)));
    await annotate(`${vain.length} of ${sims.length} in vain`);
    expect(vain.length / sims.length).toBeLessThan(0.05);
  });

  it("filters on 200 absent values look up fewer than 2% of 10,000 SIMs unnecessarily", async ({ annotate }) => {
    const looks = Array.from({ length: 200 }, (_, i) => {
      const see = prefilter(parseFilter(`tags.site=nowhere-${i}`), chunk, noCodes.lookup);
      return sims.filter((_sim, place) => see(place) !== "differs").length;
    });
    const share = looks.reduce((sum, count) => sum + count, 0) / (looks.length * sims.length);
    await annotate(`${(100 * share).toFixed(2)} % in vain`);
    expect(share).toBeLessThan(0.02);
  });
});
