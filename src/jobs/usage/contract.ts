/** The route of usage. */
import { z } from "zod";
import { count, ofProfile } from "#contract/fields.ts";
import { postRoute } from "#contract/route.ts";

const usageReport = z.object({
  syncId: z.string(),
  profile: z.string(),
  isOver: z.boolean().describe("false: a worker reads it now, and emits `usage.synced` or `usage.failed`"),
  calls: count.describe("calls of the platform"),
  sims: count.describe("SIMs with usage in this month"),
  unknown: count.describe("SIMs of the export that are not in the inventory, up to 100,000"),
  crossed: count.describe("SIMs that have crossed a threshold since the last sync, counted for each threshold"),
});

export type UsageReport = Readonly<z.infer<typeof usageReport>>;

export const syncUsage = postRoute({
  path: "/usage-syncs",
  did: "started a sync of the usage of",
  tag: "syncs",
  summary: "Read the usage of all SIMs",
  query: z.strictObject(ofProfile),
  answer: usageReport,
  status: 202,
});
