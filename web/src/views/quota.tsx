/** Every quota of the platform as tracked locally: how much is left, until when, and who spends it. */
import type { JSX } from "preact";
import { nowMs } from "../clock.ts";
import { useLive } from "../live.ts";
import { Badge } from "../parts/badge.tsx";
import { Figure, QuotaMeter } from "../parts/bars.tsx";
import { Empty, Loaded, Notice, Panel } from "../parts/notice.tsx";
import { Plot } from "../parts/plot.tsx";
import { View } from "../parts/view.tsx";
import { bucketTitle } from "../pure/bucket.ts";
import { grouped, counted } from "../pure/format.ts";
import type { BucketReport } from "../pure/shapes.ts";
import { viewTitles } from "../pure/route.ts";

export function Quota(): JSX.Element {
  const quotas = useLive<{ buckets: BucketReport[] }>("/v1/buckets", { ms: 1_500 });
  const seenMs = nowMs.peek();
  return (
    <View title={viewTitles.quota} says="Calls left in the current window, for each API group.">
      <Loaded live={quotas} what="quotas">
        {({ buckets }) =>
          buckets.length === 0 ? (
            <Panel title="No quotas yet">
              <Empty command="simfleet sims sync">
                The platform reports a quota with its first response. Run a sync to get one.
              </Empty>
            </Panel>
          ) : (
            buckets.map((bucket) => <Bucket key={bucket.bucket} bucket={bucket} seenMs={seenMs} />)
          )
        }
      </Loaded>
    </View>
  );
}

function Bucket({ bucket, seenMs }: { bucket: BucketReport; seenMs: number }): JSX.Element {
  const { limit, left, inFlight, kept, othersPerMinute, frozen, today, waiters, windows } = bucket;
  const waiting = waiters.reduce((sum, one) => sum + one.waiting, 0);
  return (
    <Panel
      title={bucketTitle(bucket)}
      actions={frozen ? <Badge state="paused" word="paused after a 429" /> : undefined}
    >
      <div class="form">
        <div>
          <div class="quota-head">
            <span class="progress-number">
              <Left {...bucket} />
            </span>
            <Countdown bucket={bucket} seenMs={seenMs} />
          </div>
          {limit !== null && left !== null && <QuotaMeter left={left} limit={limit} kept={kept ?? 0} />}
        </div>
        {frozen && (
          <Notice kind="warn" icon="paused">
            The platform answered 429. Every process waits for the reset; no row loses an attempt.
          </Notice>
        )}
        <dl class="figures">
          <Figure
            label="Kept for others"
            note={othersPerMinute === 0 ? undefined : `${grouped(othersPerMinute)} a minute seen`}
          >
            {kept === null ? "–" : grouped(kept)}
          </Figure>
          {bucket.operator !== null && bucket.profiles.length > 1 && (
            <Figure label="Shared by profiles">{bucket.profiles.join(", ")}</Figure>
          )}
          <Figure label="In flight">{grouped(inFlight)}</Figure>
          <Figure
            label="Waiting"
            note={waiters.length > 0 ? `in ${counted(waiters.length, "process", "processes")}` : undefined}
          >
            {grouped(waiting)}
          </Figure>
          <Figure label="Calls since 00:00 UTC">{grouped(today.calls)}</Figure>
          <Figure label="Rate-limited (429)">{grouped(today.throttled)}</Figure>
        </dl>
        {windows.length > 1 && windows.some((one) => one.calls > 0) && (
          <section aria-label={`Windows of ${bucketTitle(bucket)}`}>
            <h3>Calls per window</h3>
            <Plot
              says={`Calls in the last ${windows.length} windows, and how many of them were rate-limited`}
              height={150}
              times={windows.map(({ at }) => Date.parse(at) / 1_000)}
              series={[
                { name: "calls", values: windows.map((one) => one.calls), kind: "bars", color: "--series-1" },
                {
                  name: "rate-limited",
                  values: windows.map((one) => one.throttled),
                  kind: "bars",
                  color: "--bad",
                },
                { name: "limit", color: "--series-2", dash: [7, 4], values: windows.map((one) => one.limit) },
              ]}
            />
          </section>
        )}
      </div>
    </Panel>
  );
}

function Left({ left, limit }: BucketReport): JSX.Element {
  if (limit === null) return <small>Limit not known yet</small>;
  return left === null ? (
    <>
      {grouped(limit)}
      <small>{" per window"}</small>
    </>
  ) : (
    <>
      {grouped(left)}
      <small>{` of ${grouped(limit)} left`}</small>
    </>
  );
}

/** Counts down between two responses. */
function Countdown({ bucket, seenMs }: { bucket: BucketReport; seenMs: number }): JSX.Element {
  const { secondsToRefresh, refreshDoubtSeconds } = bucket;
  if (secondsToRefresh === null) return <span class="quiet">Reset time not known</span>;
  const left = Math.max(0, secondsToRefresh - Math.max(0, nowMs.value - seenMs) / 1_000);
  const doubt = refreshDoubtSeconds === null ? "the second" : `± ${(refreshDoubtSeconds / 2).toFixed(2)} s`;
  return (
    <span class="quiet" title={`Accurate to ${doubt}`}>
      {left === 0 ? "a new window opens with the next call" : `resets in ${left.toFixed(0)} s`}
    </span>
  );
}
