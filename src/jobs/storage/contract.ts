/** The route of storage. */
import { z } from "zod";
import { count, instant, list } from "#contract/fields.ts";
import { getRoute } from "#contract/route.ts";

const storagePart = z.object({
  part: z.string().describe("such as runs, inventory, events, deliveries, audit, queues, quotas"),
  bytes: count,
  keys: count,
});

const storageReport = z.object({
  usedBytes: count.describe("all that Redis uses, other programs' data included"),
  limitBytes: count,
  limitFrom: z
    .enum(["maxmemory", "machine"])
    .describe("machine: Redis has no maxmemory, so this is the machine's memory"),
  parts: list(storagePart).describe("estimated from samples, the largest first"),
  retentionDays: z.record(z.string(), count).describe("by kind of data, such as rows, runs, events, goneSims"),
  formerProfiles: list(z.object({ profile: z.string(), since: instant, removedAt: instant })).describe(
    "profiles that are not in this configuration, since when no worker has them, and when their data are removed",
  ),
  archive: z.string().nullable().describe("folder of archived results; null: rows are removed without"),
});

export type StorageReport = Readonly<z.infer<typeof storageReport>>;

export const showStorage = getRoute({
  path: "/storage",
  summary: "Get the memory of Redis by kind of data",
  answer: storageReport,
});
