import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { operationsPage } from "../../scripts/document-metrics.ts";

test("docs/deploy.md matches the metric catalog", () => {
  const page = readFileSync(new URL("../../docs/deploy.md", import.meta.url), "utf8");
  expect(page).toContain("| `simfleet_rows` |");
  expect(page, "out of date: npx node scripts/document-metrics.ts").toBe(operationsPage(page));
});
