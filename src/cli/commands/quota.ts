/** `simfleet quota`: every bucket as it stands. */
import { Command } from "@commander-js/extra-typings";
import type { BucketState } from "#limiter/limiter.ts";
import { type Context, withCommon } from "../context.ts";
import { table } from "../output.ts";

export function quotaCommand(context: Context): Command {
  const command = new Command("quota").description("every quota: limit, left, reserve, seconds to refresh, who waits");
  return withCommon(command, "simfleet quota --json").action(async (options) => {
    const output = context.output(options);
    await context.withApp(context.config(options), async (app) => {
      const buckets = await app.desk.buckets();
      output.answer({ buckets: buckets.map(bucketDocument), nextCursor: null }, () => bucketTable(buckets));
    });
  });
}

function bucketDocument(bucket: BucketState): Record<string, unknown> {
  return {
    bucket: bucket.bucket,
    limit: bucket.limit ?? null,
    left: bucket.left ?? null,
    inFlight: bucket.inFlight,
    reserve: bucket.reserved ?? null,
    secondsToRefresh: secondsToRefresh(bucket) ?? null,
    // How well the instant of the refresh is known.
    refreshDoubtSeconds: doubtSeconds(bucket) ?? null,
    frozen: bucket.frozenUntilMs !== undefined,
    calls: bucket.calls,
    throttled: bucket.throttled,
    waiters: bucket.waiters,
  };
}

function bucketTable(buckets: readonly BucketState[]): string {
  if (buckets.length === 0) return "No quota is known yet: each is learned from the first answer.";
  const rows = buckets.map((bucket) => [
    bucket.bucket,
    bucket.limit ?? "?",
    bucket.left ?? "?",
    bucket.inFlight,
    bucket.reserved ?? "?",
    refreshText(bucket),
    bucket.throttled,
    bucket.waiters.reduce((sum, { waiting }) => sum + waiting, 0),
  ]);
  return table(["BUCKET", "LIMIT", "LEFT", "IN FLIGHT", "RESERVE", "REFRESH", "429S", "WAITING"], rows);
}

function refreshText(bucket: BucketState): string {
  const seconds = secondsToRefresh(bucket);
  if (seconds === undefined) return "?";
  const doubt = doubtSeconds(bucket) ?? 0;
  return `${seconds.toFixed(1)} s ± ${(doubt / 2).toFixed(2)}`;
}

function secondsToRefresh(bucket: BucketState): number | undefined {
  if (bucket.refreshLatestMs === undefined) return undefined;
  return Math.max(0, Math.round(bucket.refreshLatestMs - bucket.nowMs)) / 1_000;
}

function doubtSeconds(bucket: BucketState): number | undefined {
  if (bucket.refreshLatestMs === undefined || bucket.refreshEarliestMs === undefined) return undefined;
  return Math.round(bucket.refreshLatestMs - bucket.refreshEarliestMs) / 1_000;
}
