/** `simfleet quota`: every quota as simfleet tracks it. */
import { Command } from "@commander-js/extra-typings";
import { type BucketReport, listBuckets } from "./contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { table } from "#cli/output.ts";

export function quotaCommand(context: Context): Command {
  const command = new Command("quota").description(
    "list quotas: limit, left, reserve, seconds to refresh, waiting calls",
  );
  return withCommon(command, "simfleet quota --json").action(async (options) => {
    const output = context.output(options);
    const page = await context.connect(options, ({ client }) => client.call(listBuckets));
    output.answer(page, (shown) => bucketTable(shown.buckets));
  });
}

function bucketTable(buckets: readonly BucketReport[]): string {
  if (buckets.length === 0) return "No quota is known yet: it is reported by the first response.";
  const rows = buckets.map((bucket) => [
    bucket.bucket,
    bucket.limit ?? "?",
    bucket.left ?? "?",
    bucket.inFlight,
    bucket.reserve ?? "?",
    refreshText(bucket),
    bucket.throttled,
    bucket.waiters.reduce((sum, { waiting }) => sum + waiting, 0),
  ]);
  return table(["BUCKET", "LIMIT", "LEFT", "IN FLIGHT", "RESERVE", "REFRESH", "429S", "WAITING"], rows);
}

function refreshText({ secondsToRefresh, refreshDoubtSeconds }: BucketReport): string {
  if (secondsToRefresh === null) return "?";
  return `${secondsToRefresh.toFixed(1)} s ± ${((refreshDoubtSeconds ?? 0) / 2).toFixed(2)}`;
}
