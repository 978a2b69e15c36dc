import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { configSchema } from "#config/schema.ts";
import { settingsOf } from "#config/setting.ts";
import { renderConfiguration } from "../../scripts/document-configuration.ts";

it("docs/reference/configuration.md matches the schema (rewritten by scripts/document-configuration.ts)", () => {
  expect(readFileSync("docs/reference/configuration.md", "utf8")).toBe(renderConfiguration());
});

it("the example configuration shows every key", () => {
  const example = readFileSync("config/simfleet.example.yaml", "utf8");
  const keys = settingsOf(configSchema).map(({ path }) => path.split(".").at(-1) ?? "");
  expect(keys.filter((key) => !new RegExp(`(^[ #-]*|[{,] *)${key}:`, "m").test(example))).toEqual([]);
});
