/** Faults of requests in our words. */
import { expect, test } from "vitest";
import { z } from "zod";
import { issueText, ofPage } from "#contract/fields.ts";
import { retryRun, showRun } from "#jobs/runs/contract.ts";

const textsOf = (schema: z.ZodType, given: unknown): string[] =>
  schema.safeParse(given).error?.issues.map(issueText) ?? [];

test.each([
  [showRun.params, { runId: "x".repeat(201) }, "must have at most 200 characters"],
  [showRun.params, { runId: "" }, "must not be empty"],
  [showRun.params, {}, "must be a text"],
  [z.object(ofPage), { limit: "0" }, "must be at least 1"],
  [z.object(ofPage), { limit: "many" }, "must be a number"],
  [retryRun.body, { outcomes: ["lost"] }, /^must be one of done, /],
  [retryRun.body, { outcomes: [] }, "must not be empty"],
  [z.strictObject({ a: z.string() }), { a: "", b: 1 }, "has no b"],
  [z.object({ at: z.iso.datetime() }), { at: "soon" }, "must be a time such as 2026-11-20T08:00:00Z"],
  [z.object({ a: z.string().regex(/b/, "must have a b") }), { a: "" }, "must have a b"],
] as const)("%#: the fault of a request is %2$s", (schema, given, text) => {
  expect(textsOf(schema, given)).toEqual([typeof text === "string" ? text : expect.stringMatching(text)]);
});
