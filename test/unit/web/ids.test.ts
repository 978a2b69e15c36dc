import { expect, it } from "vitest";
import { splitAtIds } from "../../../web/src/pure/ids.ts";

it("the ids of a run, a sync, rotations and a plan are found with the text around them", () => {
  expect(splitAtIds("12 rows were already retried by run r-20261120-103045-x7k2m9ab.")).toEqual([
    "12 rows were already retried by run ",
    "r-20261120-103045-x7k2m9ab",
    ".",
  ]);
  const ids = [
    "s-20261120-103045-482",
    "t-20261120-103045-482113",
    "k-20261120-103045-482",
    "p-20261120-103045-x7k2m9",
  ];
  expect(splitAtIds(ids.join(" ")).filter((_, i) => i % 2 === 1)).toEqual(ids);
});

it("a text without an id is one part", () => {
  for (const text of ["", "HTTP 404", "air-20261120-103045-1", "r-2026", "mqtt-20261120-103045"]) {
    expect(splitAtIds(text)).toEqual([text]);
  }
});
