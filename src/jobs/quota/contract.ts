/** The route of quotas. */
import { z } from "zod";
import { count, instant, list, listRoute } from "#contract/fields.ts";

const bucketWindow = z.object({
  at: instant.describe("end of the window"),
  calls: count,
  throttled: count,
  limit: count.nullable().describe("of this window"),
});

export const bucketReport = z.object({
  bucket: z.string(),
  group: z.string().describe("the API group, also of calls that are counted by address"),
  operator: z.string().nullable().describe("the account whose users share it; null for one profile or an address"),
  address: z.string().nullable().describe("`limits.egress` of calls that are counted by address"),
  profiles: list(z.string()).describe("profiles that use it; none for an address"),
  limit: count.nullable().describe("null until the first response reports it"),
  left: count.nullable(),
  inFlight: count,
  reserve: count.nullable().describe("calls of each window that are reserved for other callers in any case"),
  kept: count.nullable().describe("calls that bulk work leaves to others now; fewer toward the reset"),
  othersPerMinute: count.describe("calls of others, and live calls, in the busiest of the last windows"),
  periodSeconds: z.number().describe("length of a window"),
  secondsToRefresh: z.number().nullable(),
  refreshDoubtSeconds: z.number().nullable().describe("uncertainty of the time to reset"),
  blocked: z.boolean().describe("whether calls wait for the reset after a 429"),
  calls: count,
  throttled: count,
  work: z
    .object({ runs: count, calls: count, seconds: z.number().describe("time until all of them are done") })
    .nullable()
    .describe("runs that need more than the present window; a higher limit would end them sooner"),
  waiters: list(z.object({ process: z.string(), waiting: count })),
  windows: list(bucketWindow).describe("of the last 60 periods, newest last; empty ones only between others"),
  today: z.object({ calls: count, throttled: count }).describe("since 00:00 UTC, of all processes"),
});

export type BucketReport = Readonly<z.infer<typeof bucketReport>>;

export const listBuckets = listRoute(
  "buckets",
  bucketReport,
  "List quotas: limit, left, reserve, time to reset, waiting calls",
);
