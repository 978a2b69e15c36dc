/** Every quota of the platform as tracked locally: how much is left, until when, and who spends it. */
import type { JSX } from "preact";
import { nowMs } from "../clock.ts";
import { useLive } from "../live.ts";
import { Badge } from "../parts/badge.tsx";
import { Figure, QuotaMeter } from "../parts/bars.tsx";
import { Empty, Notice, Panel, ProblemNotice, Waiting } from "../parts/notice.tsx";
import { Plot } from "../parts/plot.tsx";
import { View } from "../parts/view.tsx";
import { bucketTitle } from "../pure/bucket.ts";
import { grouped } from "../pure/format.ts";
import type { BucketReport } from "../pure/shapes.ts";
import { quotaText as text } from "../strings/quota.ts";
import { viewTitles } from "../strings/shell.ts";

export function Quota(): JSX.Element {
  const { value, problem } = useLive<{ buckets: BucketReport[] }>("/v1/buckets", { ms: 1_500 });
  const seenMs = nowMs.peek();
  return (
    <View title={viewTitles.quota} says={text.hint}>
      <ProblemNotice problem={problem} what={text.failed} />
      {value === undefined && problem === undefined && <Waiting what={text.reading} />}
      {value?.buckets.length === 0 && (
        <Panel title={text.none}>
          <Empty command={text.command}>{text.noneHint}</Empty>
        </Panel>
      )}
      {value?.buckets.map((bucket) => (
        <Bucket key={bucket.bucket} bucket={bucket} seenMs={seenMs} />
      ))}
    </View>
  );
}

function Bucket({ bucket, seenMs }: { bucket: BucketReport; seenMs: number }): JSX.Element {
  const { limit, left, inFlight, reserve, frozen, throttled, calls, waiters, windows } = bucket;
  const waiting = waiters.reduce((sum, one) => sum + one.waiting, 0);
  return (
    <Panel
      title={bucketTitle(bucket.bucket)}
      actions={frozen ? <Badge state="paused" word={text.frozen} /> : undefined}
    >
      <div class="form">
        <div>
          <div class="quota-head">
            <span class="progress-number">
              <Left {...bucket} />
            </span>
            <Countdown bucket={bucket} seenMs={seenMs} />
          </div>
          {limit !== null && left !== null && <QuotaMeter left={left} limit={limit} reserve={reserve ?? 0} />}
        </div>
        {frozen && (
          <Notice kind="warn" icon="paused">
            {text.frozenHint}
          </Notice>
        )}
        <dl class="figures">
          <Figure
            label={text.reserved}
            note={left === null || reserve === null || reserve === 0 ? undefined : text.reservedHint}
          >
            {reserve === null ? "–" : grouped(reserve)}
          </Figure>
          <Figure label={text.inFlight}>{grouped(inFlight)}</Figure>
          <Figure label={text.waiting} note={waiters.length > 0 ? text.waitingHint(waiters.length) : undefined}>
            {grouped(waiting)}
          </Figure>
          <Figure label={text.calls}>{grouped(calls)}</Figure>
          <Figure label={text.throttled} note={throttled > 0 ? text.throttledHint : undefined}>
            {grouped(throttled)}
          </Figure>
        </dl>
        {windows.length > 1 && windows.some((one) => one.calls > 0) && (
          <section aria-label={text.windows(bucketTitle(bucket.bucket))}>
            <h3>{text.perWindow}</h3>
            <Plot
              says={text.chart(windows.length)}
              height={150}
              times={windows.map(({ at }) => Date.parse(at) / 1_000)}
              series={[
                { name: text.chartCalls, values: windows.map((one) => one.calls), kind: "bars", color: "--series-1" },
                {
                  name: text.chartThrottled,
                  values: windows.map((one) => one.throttled),
                  kind: "bars",
                  color: "--bad",
                },
              ]}
            />
          </section>
        )}
      </div>
    </Panel>
  );
}

function Left({ left, limit }: BucketReport): JSX.Element {
  if (limit === null) return <small>{text.noLimit}</small>;
  return left === null ? (
    <>
      {grouped(limit)}
      <small>{text.perEveryWindow}</small>
    </>
  ) : (
    <>
      {grouped(left)}
      <small>{text.leftOf(limit)}</small>
    </>
  );
}

/** Counts down between two responses. */
function Countdown({ bucket, seenMs }: { bucket: BucketReport; seenMs: number }): JSX.Element {
  const { secondsToRefresh, refreshDoubtSeconds } = bucket;
  if (secondsToRefresh === null) return <span class="quiet">{text.noReset}</span>;
  const left = Math.max(0, secondsToRefresh - Math.max(0, nowMs.value - seenMs) / 1_000);
  const doubt = refreshDoubtSeconds === null ? text.second : `± ${(refreshDoubtSeconds / 2).toFixed(2)} s`;
  return (
    <span class="quiet" title={text.resetKnownTo(doubt)}>
      {left === 0 ? text.nextCallOpens : text.resetsIn(left.toFixed(0))}
    </span>
  );
}
