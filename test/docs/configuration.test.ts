import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { valuesOf } from "#config/section.ts";
import { sections } from "#config/sections.ts";
import { placesOf, settingIds, settingOf } from "#config/schema.ts";
import { renderConfiguration } from "../../scripts/document-configuration.ts";

it("docs/configuration.md says what the table of settings says (scripts/document-configuration.ts rewrites it)", () => {
  expect(readFileSync("docs/configuration.md", "utf8")).toBe(renderConfiguration());
});

it("the example file shows every key", () => {
  const example = readFileSync("config/simfleet.example.yaml", "utf8");
  const settings = settingIds.flatMap((id) => placesOf(settingOf(id)).map(({ path }) => path));
  const structures = sections.flatMap(({ path, schema }) => [...valuesOf(schema, path)].map((one) => one.path));
  const keys = [...settings, ...structures].map((path) => path.split(".").at(-1) ?? "");
  expect(keys.filter((key) => !new RegExp(`(^[ #-]*|[{,] *)${key}:`, "m").test(example))).toEqual([]);
});
