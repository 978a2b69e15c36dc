/** The platform's quotas as tracked locally, the busiest first; and for one of them its windows and what would help. */
import type { JSX } from "preact";
import { useLive } from "../live.ts";
import { Badge } from "../parts/badge.tsx";
import { QuotaMeter } from "../parts/charts/bars.tsx";
import { Empty, Loaded, Notice, Panel } from "../parts/notice.tsx";
import { Plot } from "../parts/charts/plot.tsx";
import { Table } from "../parts/table.tsx";
import { View } from "../parts/view.tsx";
import { place } from "../place.ts";
import { bucketTitle, busiestFirst, callsWaiting } from "../pure/bucket.ts";
import { counted, duration, grouped } from "../pure/format.ts";
import { hrefOf, viewTitles } from "../pure/route.ts";
import type { BucketReport } from "../pure/shapes.ts";

export function Quota(): JSX.Element {
  const quotas = useLive<{ buckets: BucketReport[] }>("/v1/buckets", { ms: 1_500 });
  return (
    <View title={viewTitles.quota} says="Calls left in the current window of each quota, the busiest first.">
      <Loaded live={quotas} what="quotas">
        {({ buckets }) => <Quotas buckets={busiestFirst(buckets)} />}
      </Loaded>
    </View>
  );
}

function Quotas({ buckets }: { buckets: readonly BucketReport[] }): JSX.Element {
  const chosen = buckets.find(({ bucket }) => bucket === place.value.query.bucket) ?? buckets[0];
  return (
    <>
      <section class="panel" aria-label="Quotas">
        <Table
          isDense
          label="Quotas"
          rows={buckets}
          keyOf={({ bucket }) => bucket}
          current={place.value.query.bucket}
          empty={
            <Empty command="simfleet sims sync">
              No quota is known yet. The platform reports one with its first response: run a sync to get it.
            </Empty>
          }
          columns={[
            {
              label: "Quota",
              cell: (bucket) => (
                <a href={hrefOf("quota", undefined, { bucket: bucket.bucket })}>{bucketTitle(bucket)}</a>
              ),
            },
            { label: "Left", cell: (bucket) => <Left {...bucket} /> },
            {
              label: "Resets",
              kind: "number",
              cell: ({ secondsToRefresh: left }) =>
                left === null ? "not known" : left <= 0 ? "with the next call" : `in ${duration(left)}`,
            },
            { label: "Waiting", kind: "number", cell: (bucket) => grouped(callsWaiting(bucket)) },
            { label: "Kept for others", kind: "number", cell: ({ kept }) => (kept === null ? "–" : grouped(kept)) },
            { label: "Calls today", kind: "number", cell: ({ today }) => grouped(today.calls) },
            { label: "Rate-limited", kind: "number", cell: ({ today }) => grouped(today.throttled) },
          ]}
        />
        <p class="quiet more">Today starts at 00:00 UTC. The hatched part of a bar is kept for other callers.</p>
      </section>
      {chosen !== undefined && <Chosen bucket={chosen} />}
    </>
  );
}

function Left({ left, limit, kept, blocked }: BucketReport): JSX.Element {
  if (limit === null) return <span class="quiet">limit not known yet</span>;
  return (
    <>
      <span class="nowrap">
        {left === null ? `${grouped(limit)} per window` : `${grouped(left)} of ${grouped(limit)}`}
      </span>{" "}
      {blocked && <Badge state="paused" word="blocked after a 429" />}
      {left !== null && <QuotaMeter left={left} limit={limit} kept={kept ?? 0} />}
    </>
  );
}

function Chosen({ bucket }: { bucket: BucketReport }): JSX.Element {
  const { operator, profiles, othersPerMinute, windows } = bucket;
  const shared = operator !== null && profiles.length > 1 ? `Shared by ${profiles.join(", ")}` : undefined;
  const others = othersPerMinute === 0 ? undefined : `others make up to ${grouped(othersPerMinute)} calls a minute`;
  const hint = [shared, others].filter((part) => part !== undefined).join(" · ");
  return (
    <Panel title={bucketTitle(bucket)} hint={hint === "" ? undefined : hint}>
      <div class="form">
        <Help bucket={bucket} />
        {windows.some(({ calls }) => calls > 0) ? (
          <Plot
            says={`Calls in the last ${counted(windows.length, "window")}, and how many of them were rate-limited`}
            height={180}
            times={windows.map(({ at }) => Date.parse(at) / 1_000)}
            series={[
              { name: "calls", values: windows.map(({ calls }) => calls), kind: "bars", color: "--series-1" },
              { name: "rate-limited", values: windows.map((one) => one.throttled), kind: "bars", color: "--bad" },
              { name: "limit", values: windows.map(({ limit }) => limit), color: "--series-2", dash: [7, 4] },
            ]}
          />
        ) : (
          <p class="quiet">No calls in the recent windows.</p>
        )}
      </div>
    </Panel>
  );
}

/** How long the runs in progress need, and how to ask for more. */
function Help({ bucket: { work } }: { bucket: BucketReport }): JSX.Element | null {
  if (work === null) return null;
  const runs = counted(work.runs, "run needs", "runs need");
  return (
    <Notice kind="plain" icon="waiting">
      <span>
        {`${runs} ${counted(work.calls, "more call")}: about ${duration(work.seconds)}. A higher limit would help; to ask for one:`}
      </span>
      <code>simfleet quota --request</code>
    </Notice>
  );
}
