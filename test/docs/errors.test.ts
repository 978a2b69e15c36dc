import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { errorsPage } from "../../scripts/document-errors.ts";

test("docs/errors.md has every error code as the code has it", () => {
  const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  expect(page).toBe(errorsPage(page));
});
