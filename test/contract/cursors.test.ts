/** Whatever a cursor says, a list responds with a page or says that the cursor is not valid; it never fails. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { seeds } from "../support/long.ts";
import { answerOf, ControlHarness } from "./support/control-harness.ts";
import type { Operation } from "./support/routes.ts";
import { anyText } from "../support/any-text.ts";

interface Description {
  readonly paths: Readonly<Record<string, { readonly get?: Operation }>>;
}

const numRuns = seeds(60, 10_000);

/** Pieces that have a meaning in a cursor, and anything else. */
function cursorWith(runId: string): fc.Arbitrary<string[]> {
  const piece = fc.constantFrom(...'0 1 - : . r-20261120 { " % null'.split(" "), " ", "9".repeat(16), runId);
  return fc.oneof(
    fc.array(fc.oneof(piece, anyText({ maxLength: 4 })), { minLength: 1, maxLength: 6 }),
    fc.base64String({ minLength: 4, maxLength: 60 }).map((text) => [text]),
  );
}

test("any cursor of any list gives a page or an error that says so", async () => {
  await using harness = await ControlHarness.open({ works: true, http: "  requestsPerMinute: 1000000\n" });
  const runId = await harness.startRun(harness.csv(3));
  const { paths } = (await (await harness.ask("/docs/json")).json()) as Description;
  const lists = Object.entries(paths)
    .filter(([, { get }]) => get?.parameters?.some(({ name }) => name === "cursor"))
    .map(([path]) => path.replace("{runId}", runId).replaceAll(/\{\w+\}/g, "x"));
  expect(lists).toEqual(expect.arrayContaining(["/v1/sims", "/v1/events", `/v1/runs/${runId}/rows`]));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...lists), cursorWith(runId), async (list, parts) => {
      const path = `${list}?cursor=${encodeURIComponent(parts.join("").toWellFormed())}`;
      const answer = await harness.ask(path, { as: "admin" });
      const document = (await answer.json()) as { code?: string };
      expect([path, answer.status, document.code]).toEqual([path, expect.toSatisfy(isExpected), document.code]);
      if (answer.status !== 200) expect(document.code).toMatch(/^(REQUEST_INVALID|USAGE|RUN_NOT_FOUND|NOT_FOUND)$/);
    }),
    { numRuns },
  );
});

test.each(["/changes", "/audit", "/events"])("%s has no entry before the first possible one", async (list) => {
  await using harness = await ControlHarness.open();
  const ends = ["cursor=0-0", "cursor=00-000", ...(list === "/changes" ? [] : ["until=1960-01-01T00:00:00Z"])];
  for (const end of ends) {
    const answer = await answerOf(harness.ask(`/v1${list}?${end}`, { as: "admin" }));
    expect([end, ...answer]).toMatchObject([end, 200, { nextCursor: null }]);
  }
});

function isExpected(status: number): boolean {
  return [200, 400, 404].includes(status);
}
