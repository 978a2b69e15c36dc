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

const codes = /^(REQUEST_INVALID|USAGE|RUN_NOT_FOUND|NOT_FOUND)$/;
const numRuns = seeds(60, 10_000);

/** Pieces that have a meaning in a cursor, and anything else. */
function cursorWith(runId: string): fc.Arbitrary<string[]> {
  const piece = fc.constantFrom(...'0 1 - : . r-20261120 { " % null'.split(" "), " ", "9".repeat(16), runId);
  return fc.oneof(
    fc.array(fc.oneof(piece, anyText({ maxLength: 4 })), { minLength: 1, maxLength: 6 }),
    fc.base64String({ minLength: 4, maxLength: 60 }).map((text) => [text]),
  );
}

/** The paths of the lists that take a cursor, those of a run for this one. */
async function listsWithCursor(harness: ControlHarness, runId: string): Promise<string[]> {
  const { paths } = (await (await harness.ask("/docs/json")).json()) as Description;
  return Object.entries(paths)
    .filter(([, { get }]) => get?.parameters?.some(({ name }) => name === "cursor"))
    .map(([path]) => path.replace("{runId}", runId).replaceAll(/\{\w+\}/g, "x"));
}

test("any cursor of any list gives a page or an error that says so", async () => {
  await using harness = await ControlHarness.open({ works: true, http: "  requestsPerMinute: 1000000\n" });
  const runId = await harness.startRun(harness.csv(3));
  const lists = await listsWithCursor(harness, runId);
  expect(lists).toEqual(expect.arrayContaining(["/v1/sims", "/v1/events", `/v1/runs/${runId}/rows`]));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...lists), cursorWith(runId), async (list, parts) => {
      const path = `${list}?cursor=${encodeURIComponent(parts.join("").toWellFormed())}`;
      const [status, document] = await answerOf(harness.ask(path, { as: "admin" }));
      expect([200, 400, 404], path).toContain(status);
      if (status !== 200) expect(document).toMatchObject({ code: expect.stringMatching(codes) });
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
