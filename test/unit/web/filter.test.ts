import { describe, expect, it } from "vitest";
import { parseFilter } from "#fleet/filter.ts";
import { equals } from "../../../web/src/pure/filter.ts";

describe("a filter that the dashboard writes", () => {
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
  ])("means %j", (value) => {
    const { conditions } = parseFilter(equals("tags.site", value));
    expect(conditions).toEqual([{ kind: "equals", field: "tags.site", value }]);
  });
});
