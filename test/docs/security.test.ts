import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { securityPage, shownPromises } from "../../scripts/document-security.ts";

const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");

test("docs/security.md lists the tests of each guarantee by their titles", () => {
  expect(page, "out of date: npx node scripts/document-security.ts").toBe(securityPage(page));
});

test("every guarantee in docs/security.md has a test and every listed test shows one", () => {
  const promised = [...page.matchAll(/^\| \*\*(S\d+)\*\* \|/gm)].map(([, id]) => id);
  expect(promised).toEqual(Array.from({ length: 20 }, (_, n) => `S${n + 1}`));
  expect(new Set(shownPromises().map(({ promise }) => promise))).toEqual(new Set(promised));
});
