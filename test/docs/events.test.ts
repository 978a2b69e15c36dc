import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventsPage } from "../../scripts/document-events.ts";

test("docs/reference/events.md matches the event catalog", () => {
  const page = readFileSync(new URL("../../docs/reference/events.md", import.meta.url), "utf8");
  expect(page, "out of date: npx node scripts/document-events.ts").toBe(eventsPage(page));
});
