/** `simfleet quota`: every quota as simfleet tracks it. */
import { Command } from "@commander-js/extra-typings";
import { type BucketReport, listBuckets } from "./contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, withListOptions } from "#cli/list.ts";
import { quotaStrings } from "./strings.ts";

export function quotaCommand(context: Context): Command {
  const command = new Command("quota")
    .description(quotaStrings.description)
    .option("--request", quotaStrings.requestOption);
  return withCommon(withListOptions(command), "simfleet quota --json").action(async (options) => {
    const output = context.output(options);
    // The calls of each group are known here alone.
    const config = options.request === true ? await context.config(options) : undefined;
    const page = await context.connect(options, ({ client }) => client.call(listBuckets));
    if (config !== undefined) {
      const { limitRequests, limitRequestText } = await import("#cli/commands/limit-request.ts");
      output.answer({ requests: limitRequests(page.buckets, config) }, (shown) => limitRequestText(shown.requests));
      return;
    }
    answerList(output, page, quotaList, options);
  });
}

const quotaList: List<"buckets", BucketReport> = {
  name: "buckets",
  route: listBuckets,
  empty: quotaStrings.none,
  columns: [
    { name: "quota", value: ({ bucket }) => quotaOf(bucket).quota },
    { name: "of", value: ({ bucket }) => quotaOf(bucket).of },
    { name: "limit", value: ({ limit }) => limit ?? "?" },
    { name: "left", value: ({ left }) => left ?? "?" },
    { name: "inFlight" },
    { name: "reserve", value: ({ reserve }) => reserve ?? "?" },
    { name: "secondsToRefresh", heading: quotaStrings.headings.resetsIn, value: resetText },
    { name: "throttled", heading: quotaStrings.headings.throttled },
    { name: "waiting", value: ({ waiters }) => waiters.reduce((sum, { waiting }) => sum + waiting, 0) },
  ],
};

/** Who has the quota: the account of a profile, or this machine's address (`ip.<egress>.<group>-<operation>`). */
function quotaOf(bucket: string): { readonly quota: string; readonly of: string } {
  const [, egress, group] = /^ip\.(.+)\.([\w-]+)-\w+$/.exec(bucket) ?? [];
  if (egress !== undefined && group !== undefined) return { quota: group, of: quotaStrings.ofAddress(egress) };
  const dot = bucket.indexOf(".");
  return { quota: bucket.slice(dot + 1), of: quotaStrings.ofProfile(bucket.slice(0, dot)) };
}

function resetText({ secondsToRefresh, refreshDoubtSeconds }: BucketReport): string {
  if (secondsToRefresh === null) return "?";
  return quotaStrings.resetsIn(secondsToRefresh, (refreshDoubtSeconds ?? 0) / 2);
}
