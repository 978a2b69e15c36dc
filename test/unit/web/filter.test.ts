import { describe, expect, it } from "vitest";
import { parseFilter } from "#fleet/filter.ts";
import { equals } from "../../../web/src/pure/filter.ts";

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
});
