import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { placesOf, settingIds, settingOf } from "#config/schema.ts";
import { renderConfiguration } from "../../scripts/document-configuration.ts";

it("docs/configuration.md says what the table of settings says (scripts/document-configuration.ts rewrites it)", () => {
  expect(readFileSync("docs/configuration.md", "utf8")).toBe(renderConfiguration());
});

it("the example file shows every key", () => {
  const example = readFileSync("config/simfleet.example.yaml", "utf8");
  const keys = settingIds.flatMap((id) => placesOf(settingOf(id)).map((place) => place.path.split(".").at(-1) ?? ""));
  expect(keys.filter((key) => !new RegExp(`^[ #]*${key}:`, "m").test(example))).toEqual([]);
});
