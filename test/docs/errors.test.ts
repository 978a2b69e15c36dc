import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { errorsPage } from "../../scripts/document-errors.ts";

test("docs/reference/errors.md matches the error codes in the source", () => {
  const page = readFileSync(new URL("../../docs/reference/errors.md", import.meta.url), "utf8");
  expect(page, "out of date: npx node scripts/document-errors.ts").toBe(errorsPage(page));
});
