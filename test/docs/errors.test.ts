import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { errorsPage } from "../../scripts/document-errors.ts";

test("docs/errors.md matches the error codes in the source", () => {
  const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  expect(page).toBe(errorsPage(page));
});
