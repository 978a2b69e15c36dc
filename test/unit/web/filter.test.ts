import { describe, expect, it } from "vitest";
import { parseFilter } from "#fleet/filter.ts";
import { conditionFrom, equals, narrowed, operators, textOf } from "../../../web/src/pure/sims/filter.ts";

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
    const { expression } = parseFilter(equals("tags.site", value));
    expect(expression).toEqual({ kind: "=", field: "tags.site", values: [value] });
  });

  it("a condition of the filter builder is complete with a field and the value that its operator needs", () => {
    expect(conditionFrom({ field: "status", operator: "=", value: " " })).toBeUndefined();
    expect(conditionFrom({ field: "two words", operator: "exists", value: "" })).toBeUndefined();
    expect(conditionFrom({ field: " tags.site ", operator: "in", value: "oslo, rome," })).toEqual({
      field: "tags.site",
      operator: "in",
      values: ["oslo", "rome"],
    });
    expect(conditionFrom({ field: "tags.a<b", operator: "=", value: "5" })).toBeUndefined();
    expect(conditionFrom({ field: "groupId", operator: "not exists", value: "left over" })?.values).toEqual([]);
  });

  it.each(operators.map(({ value }) => value))(
    "the filter builder writes a filter with the operator %s",
    (operator) => {
      const condition = conditionFrom({ field: "lastModifiedTime", operator, value: "30d ago" });
      expect(condition && parseFilter(textOf(condition)).text.replaceAll('"', "")).toContain(`lastModifiedTime`);
    },
  );

  it.each([
    ["", "a=1"],
    ["b=2 and c=3", "b=2 and c=3 and a=1"],
    ["b=2 or c=3", "(b=2 or c=3) and a=1"],
    ["(b=2 OR c=3) and d=4", "(b=2 or c=3) and d=4 and a=1"],
    ["not (b=2)", "not (b=2) and a=1"],
  ])("a condition that is added to the filter %j narrows all of it", (where, whole) => {
    const text = narrowed(where, { field: "a", operator: "=", values: ["1"] });
    expect(parseFilter(text).expression).toEqual(parseFilter(whole).expression);
  });
});
