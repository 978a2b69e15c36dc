import { describe, expect, it } from "vitest";
import { parseFilter } from "#fleet/filter.ts";
import { conditionFrom, equals } from "../../../web/src/pure/sims/filter.ts";

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
