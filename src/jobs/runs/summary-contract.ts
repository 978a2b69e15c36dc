/** The route that counts the rows of a run over time, and by reason. */
import { z } from "zod";
import { count, id, instant, list } from "#contract/fields.ts";
import { route } from "#contract/route.ts";
import { outcomes } from "#fleet/run.ts";

const runSummary = z.object({
  at: instant.describe("when the rows were counted"),
  windowSeconds: z.number().describe("length of a window: a multiple of the quota's period, counted from 1970"),
  windows: list(
    z.object({
      at: instant.describe("start of the window"),
      calls: count.describe("attempts of the rows that got their outcome in it"),
      done: count,
      skipped: count,
      rejected: count,
      failed: count,
      unknown: count,
    }),
  ).describe("outcomes over time, oldest first; without windows in which there were none"),
  reasons: list(z.object({ outcome: z.enum(outcomes), reason: z.string(), rows: count })).describe(
    "the most frequent reasons of rows that are neither done nor skipped",
  ),
  reasonsInAll: count,
});

export type RunSummary = Readonly<z.infer<typeof runSummary>>;

export const showRunSummary = route({
  method: "GET",
  path: "/runs/:runId/summary",
  role: "viewer",
  tag: "runs",
  summary: "Count the outcomes of a run over time, and by reason",
  description: "All rows are read, so that the answer for a large run may be some seconds old.",
  params: z.strictObject({ runId: id }),
  answer: runSummary,
});
