import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseFilter } from "#fleet/filter.ts";
import { type Condition, conditionFrom, conditionsOf, equals, textOf } from "../../../web/src/pure/sims/filter.ts";

describe("filters written by the dashboard", () => {
  it.each([
    "s1.fast",
    "two words",
    'a "quoted" one',
    "a,b",
    String.raw`back\slash`,
    "and",
    "(x)",
    "x=y",
    "ü",
    "",
    "#1",
  ])("a filter written by the dashboard parses back to the value %j", (value) => {
    const { conditions } = parseFilter(equals("tags.site", value));
    expect(conditions).toEqual([{ kind: "equals", field: "tags.site", value }]);
  });

  it("the filter builder understands every filter of the server as the server does, and writes it back", () => {
    const field = fc.constantFrom("status", "tags.site", "tags.a-b", "groupId");
    const value = fc.oneof(fc.constantFrom("s1.fast", "two words", 'a "b"', "and", ""), fc.string({ maxLength: 6 }));
    const condition: fc.Arbitrary<Condition> = fc.oneof(
      fc.record({ field, operator: fc.constantFrom("=" as const, "!=" as const), values: fc.tuple(value) }),
      fc.record({
        field,
        operator: fc.constant("in" as const),
        values: fc.array(value, { minLength: 1, maxLength: 3 }),
      }),
      fc.record({
        field,
        operator: fc.constantFrom("exists" as const, "not exists" as const),
        values: fc.constant([]),
      }),
    );
    fc.assert(
      fc.property(fc.array(condition, { minLength: 1, maxLength: 3 }), (conditions) => {
        const text = textOf(conditions);
        expect(conditionsOf(text)).toEqual(conditions);
        // The server writes it in its own way, which means the same here.
        expect(conditionsOf(parseFilter(text).text)).toEqual(conditions);
      }),
    );
  });

  it.each(["status", "status=", "status=a or b=c", "status=a and", "a=b c=d", "in (a)", "x in ()"])(
    "the filter builder leaves %j to the server",
    (text) => {
      expect(conditionsOf(text)).toBeUndefined();
    },
  );

  it("a condition of the filter builder is complete with a field and the value that its operator needs", () => {
    expect(conditionFrom({ field: "status", operator: "=", value: " " })).toBeUndefined();
    expect(conditionFrom({ field: "two words", operator: "exists", value: "" })).toBeUndefined();
    expect(conditionFrom({ field: " tags.site ", operator: "in", value: "oslo, rome," })).toEqual({
      field: "tags.site",
      operator: "in",
      values: ["oslo", "rome"],
    });
    expect(conditionFrom({ field: "groupId", operator: "not exists", value: "left over" })?.values).toEqual([]);
  });
});
