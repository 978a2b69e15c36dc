/** The generated parts of the documentation, and what has to agree with the code next to them. */
import { readFileSync } from "node:fs";
import { expect, it, test } from "vitest";
import { outcomes } from "#fleet/run.ts";
import { settingsOf } from "#config/setting.ts";
import { verdicts } from "#jobs/runs/contract.ts";
import { faultKinds } from "#sandbox/faults.ts";
import { handWrittenWords, pages, rendered, shownPromises } from "../../scripts/docs.ts";
import { configSchema } from "../unit/config/support.ts";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
/** The words in code marks in the first column of a page's tables. */
const firstColumn = (path: string): string[] =>
  [...read(path).matchAll(/^\| `([^`]+)` \|/gm)].map(([, word = ""]) => word);

test.each(pages)("the generated parts of %s are up to date", async (page) => {
  expect(read(page), "out of date: npm run docs").toBe(await rendered(read(page)));
});

test("the README has at most 500 words", () => {
  expect(handWrittenWords(read("README.md"))).toBeLessThanOrEqual(500);
});

test("the documentation has at most 21,000 words that are written by hand", () => {
  const words = pages.reduce((sum, page) => sum + handWrittenWords(read(page)), 0);
  expect(words).toBeLessThanOrEqual(21_000);
});

it("the guide to changes of SIMs explains each verdict and each outcome", () => {
  expect(firstColumn("docs/change-sims.md")).toEqual(expect.arrayContaining([...verdicts, ...outcomes]));
});

it("the glossary names each outcome of a row", () => {
  for (const outcome of outcomes) expect(read("docs/concepts.md")).toContain(`\`${outcome}\``);
});

it("the page of the sandbox explains each fault", () => {
  expect(firstColumn("docs/reference/sandbox.md")).toEqual(expect.arrayContaining([...faultKinds]));
});

it("every promise of docs/security.md has a test and every listed test shows one", () => {
  const promised = [...read("docs/security.md").matchAll(/^\| \*\*(S\d+)\*\* \|/gm)].map(([, id]) => id);
  expect(promised).toEqual(Array.from({ length: 20 }, (_, n) => `S${n + 1}`));
  expect(new Set(shownPromises().map(({ promise }) => promise))).toEqual(new Set(promised));
});

it("the table of docs/redis.md has each setting that keeps data for days, with its default", () => {
  const kept = settingsOf(configSchema).filter(({ path }) => /^(retention\.\w+Days|\w+\.keepDays)$/.test(path));
  const rows = read("docs/redis.md").split("\n");
  for (const { path, schema } of kept) {
    const row = rows.find((line) => line.startsWith("|") && line.includes(`\`${path}\``));
    expect(row, path).toMatch(new RegExp(`\\b${String(schema.parse(undefined))} days\\b`));
  }
});

it("the index of the documentation has every page that is written for users", () => {
  const guides = pages.filter((page) => /^docs\/(?!contributing|index)/.test(page));
  for (const page of guides) expect(read("docs/index.md")).toContain(`](${page.slice("docs/".length)})`);
});

/** Sections that take the same sinks or tasks: the example shows those once. */
const alike = [
  ["rotations", "authKeys"],
  ["schedules", "automations", "dropFolder"],
];

it("the example configuration shows every key", () => {
  const example = read("config/simfleet.example.yaml");
  const sections = example.split(/^(?=(?:# )?[a-z]\w*:)/m);
  const missing = settingsOf(configSchema).flatMap(({ path }) => {
    const [first = "", ...below] = path.replaceAll(/\.<name>|\[\]/g, "").split(".");
    const places = alike.find((names) => names.includes(first)) ?? [first];
    const section = sections.filter((text) => new RegExp(`^(# )?(${places.join("|")}):`).test(text)).join("");
    return new RegExp(`(^[ #-]*|[{,] *)${below.at(-1) ?? first}:`, "m").test(section) ? [] : [path];
  });
  expect(missing, "config/simfleet.example.yaml does not have these settings").toEqual([]);
});
