/** `simfleet quota`: every quota as simfleet tracks it. */
import { Command } from "@commander-js/extra-typings";
import { type BucketReport, listBuckets } from "./contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { counted, duration } from "#cli/format.ts";
import { answerList, type List, withListOptions } from "#cli/list.ts";

export function quotaCommand(context: Context): Command {
  const command = new Command("quota")
    .description("list quotas: limit, calls left, reserve, time to reset, waiting calls")
    .option("--request", "print a text that requests a higher quota from the platform's support");
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
  empty: "No quota is known yet: the platform reports it with its first response.",
  columns: [
    { name: "quota", value: ({ group }) => group },
    { name: "of", value: ownerText },
    { name: "limit", value: ({ limit }) => limit ?? "?" },
    { name: "left", value: ({ left }) => left ?? "?" },
    { name: "inFlight" },
    { name: "reserve", value: ({ reserve }) => reserve ?? "?" },
    { name: "kept", heading: "kept for others", value: keptText },
    { name: "secondsToRefresh", heading: "resets in", value: resetText },
    { name: "today.calls", heading: "calls today" },
    { name: "today.throttled", heading: "429s today" },
    { name: "waiting", value: ({ waiters }) => waiters.reduce((sum, { waiting }) => sum + waiting, 0) },
  ],
  below: (listed) =>
    listed.flatMap(({ group, work }) =>
      work === null
        ? []
        : [
            `${counted(work.runs, "run")} ${work.runs === 1 ? "needs" : "need"} ${duration(work.seconds * 1_000)} for ${counted(work.calls, "call")} of ${group}; a higher limit would help: simfleet quota --request`,
          ],
    ),
};

/** Who has the quota: an operator with the profiles that share it, one profile, or this machine's address. */
function ownerText({ bucket, operator, address, profiles }: BucketReport): string {
  if (address !== null) return `address of ${address}`;
  if (operator === null) return `profile ${bucket.slice(0, bucket.lastIndexOf("."))}`;
  return profiles.length === 0 ? `operator ${operator}` : `operator ${operator} (${profiles.join(", ")})`;
}

/** `12 (31 a minute seen)` */
function keptText({ kept, othersPerMinute }: BucketReport): string {
  if (kept === null) return "?";
  return othersPerMinute === 0 ? String(kept) : `${kept} (${othersPerMinute} a minute seen)`;
}

/** `about 2 s`, where it is known to a second or worse. */
function resetText({ secondsToRefresh, refreshDoubtSeconds }: BucketReport): string {
  if (secondsToRefresh === null) return "?";
  return `${(refreshDoubtSeconds ?? 0) > 0 ? "about " : ""}${duration(secondsToRefresh * 1_000)}`;
}
