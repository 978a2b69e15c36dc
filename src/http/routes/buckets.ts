/** Quotas as they are mirrored. */
import { z } from "zod";
import { type BucketReport, reportOfBucket } from "#jobs/quota/report.ts";
import type { BucketWindow } from "../bucket-windows.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { count, instant, list, nothing, pageOf, shapeOf } from "#contract/fields.ts";

const bucketReport = shapeOf<BucketReport & { windows: readonly BucketWindow[] }>()({
  bucket: z.string(),
  limit: count.nullable(),
  left: count.nullable(),
  inFlight: count,
  reserve: count.nullable(),
  secondsToRefresh: z.number().nullable(),
  refreshDoubtSeconds: z.number().nullable(),
  frozen: z.boolean(),
  calls: count,
  throttled: count,
  waiters: list(z.object({ process: z.string(), waiting: count })),
  windows: list(shapeOf<BucketWindow>()({ at: instant, calls: count, throttled: count })).describe(
    "calls of recent periods as this worker has seen them, newest last",
  ),
});

export function bucketRoutes(api: Api, { app, windows }: ControlDeps): void {
  api.get(
    "/buckets",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List quotas: limit, left, reserve, time to refresh, waiting calls", tags: ["buckets"] },
        ...{ querystring: nothing, response: { 200: pageOf("buckets", bucketReport) } },
      },
    },
    async () => ({
      buckets: (await app.runs.buckets()).map((bucket) => ({
        ...reportOfBucket(bucket),
        windows: windows.of(bucket.bucket),
      })),
      nextCursor: null,
    }),
  );
}
