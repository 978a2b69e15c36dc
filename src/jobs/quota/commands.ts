/** `simfleet quota`: every quota as simfleet tracks it. */
import { Command } from "@commander-js/extra-typings";
import { type BucketReport, listBuckets } from "./contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { counted, duration } from "#cli/format.ts";
import { answerList, listOf, withListOptions } from "#cli/list.ts";
import { catalogue } from "#api/operations/catalogue.ts";
import type { Config } from "#config/config.ts";

export function quotaCommand(context: Context): Command {
  const command = new Command("quota")
    .description("List quotas: limit, calls left, reserve, time to reset, waiting calls")
    .option("--request", "print a text that requests a higher quota from the platform's support");
  return withCommon(withListOptions(command), "simfleet quota --json").action(async (options) => {
    const output = context.output(options);
    // The calls of each group are known here alone.
    const config = options.request === true ? await context.config(options) : undefined;
    const page = await context.connect(options, ({ client }) => client.call(listBuckets));
    if (config !== undefined) {
      output.answer({ requests: limitRequests(page.buckets, config) }, (shown) => limitRequestText(shown.requests));
      return;
    }
    answerList(output, page, quotaList, options);
  });
}

const quotaList = listOf("buckets", listBuckets, {
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
});

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

// The text that requests a higher quota (interface, section 8, rule 5), with the measured rate; a user completes it.

/** One for each group of a profile's quotas; those counted by address are left out. `calls`: method and path */
function limitRequests(buckets: readonly BucketReport[], { profile, deployment }: Config) {
  const known = knownCalls(deployment);
  return buckets.flatMap(({ profiles, group, limit, windows, waiters, periodSeconds }) => {
    if (!profiles.includes(profile)) return [];
    const peak = Math.max(0, ...windows.map((window) => window.calls));
    const waiting = waiters.reduce((sum, waiter) => sum + waiter.waiting, 0);
    const callsPerMinute = Math.ceil(((peak + waiting) * 60) / periodSeconds);
    const calls = known.filter((one) => one.group === group).map(({ method, path }) => `${method} ${path}`);
    return [{ group, limit, callsPerMinute, calls: [...new Set(calls)] }];
  });
}

function limitRequestText(requests: ReturnType<typeof limitRequests>): string {
  if (requests.length === 0) return "No quota is known yet: the platform reports it with its first response.";
  const groups = requests.map(({ group, limit, callsPerMinute, calls }) =>
    [
      `API group: ${group}${limit === null ? "" : ` (limit now: ${limit} requests per minute)`}`,
      "API calls:",
      ...calls.map((call) => `  ${call}`),
      `Estimated requests per minute: ${callsPerMinute} (the maximum so far, including waiting calls)`,
    ].join("\n"),
  );
  return [
    "Please raise the rate limit of these API groups of our account.",
    ...groups,
    "Use case: we change and read our SIMs in bulk. (Say how many SIMs, how often, and by when.)",
  ].join("\n\n");
}

function knownCalls({ operations, simOperations }: Config["deployment"]) {
  return [
    ...catalogue.flatMap(({ quota, method, path }) => ("group" in quota ? [{ group: quota.group, method, path }] : [])),
    ...Object.values(operations).filter((operation) => operation !== undefined),
    ...simOperations.values(),
  ];
}
