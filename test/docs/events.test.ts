import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventsPage } from "../../scripts/document-events.ts";

test("docs/events.md has every event as the catalogue has it", () => {
  const page = readFileSync(new URL("../../docs/events.md", import.meta.url), "utf8");
  expect(page).toBe(eventsPage(page));
});
