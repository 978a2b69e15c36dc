import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { securityPage, shownPromises } from "../../scripts/document-security.ts";

const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");

test("docs/security.md names for each promise the tests that show it, as the tests say", () => {
  expect(page).toBe(securityPage(page));
});

test("every promise of docs/security.md is shown by a test, and every test shows one of them", () => {
  const promised = [...page.matchAll(/^\| \*\*(S\d+)\*\* \|/gm)].map(([, id]) => id);
  expect(promised).toEqual(Array.from({ length: 20 }, (_, n) => `S${n + 1}`));
  expect(new Set(shownPromises().map(({ promise }) => promise))).toEqual(new Set(promised));
});
