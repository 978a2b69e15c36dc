/** The speed of a run, compared with its quota. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { nowMs } from "../../clock.ts";
import { useLive } from "../../live.ts";
import { Figure, QuotaMeter } from "../../parts/bars.tsx";
import { duration, grouped, localTime, zoneOf } from "../../pure/format.ts";
import { Rate } from "../../pure/runs/rate.ts";
import type { BucketReport, RunReport } from "../../pure/shapes.ts";
import { isOver } from "../../pure/runs/tally.ts";
import { bucketOf } from "../../pure/bucket.ts";
import { runText as text } from "../../strings/run.ts";

/** @param group of the API whose quota its calls spend */
export function RunFigures({ report, group }: { report: RunReport; group: string | undefined }): JSX.Element {
  const { state, calls, throttled, counts, etaSeconds } = report;
  const isGoing = !isOver(state);
  const rate = useMemo(() => new Rate(), [report.runId]);
  useMemo(() => rate.add(calls, performance.now()), [report]);
  const watched = rate.perMinute();
  const buckets = useLive<{ buckets: BucketReport[] }>(isGoing ? "/v1/buckets" : undefined, { ms: 2_000 });
  const bucket = bucketOf(buckets.value?.buckets ?? [], { profile: report.profile, group });
  return (
    <section class="panel" aria-label={text.summary}>
      <dl class="figures">
        {isGoing && (
          <Figure label={text.timeLeft} note={etaSeconds === null ? undefined : text.endsAt(endText(etaSeconds))}>
            {etaSeconds === null ? "–" : duration(etaSeconds)}
          </Figure>
        )}
        {isGoing && (
          <Figure label={text.perMinute} note={watched === undefined ? text.sinceStart : text.lastMinutes}>
            <span title={text.perMinuteWhat}>
              {state === "running" ? grouped(Math.round(watched ?? sinceStart(report))) : "–"}
            </span>
          </Figure>
        )}
        {!isGoing && <Figure label={text.duration}>{takenText(report)}</Figure>}
        <Figure label={text.calls} note={counts.skipped > 0 ? text.callsHint : undefined}>
          {grouped(calls)}
        </Figure>
        <Figure label={text.throttled} note={throttled === 0 ? undefined : text.throttledHint}>
          {grouped(throttled)}
        </Figure>
        {isGoing && bucket !== undefined && <QuotaFigure bucket={bucket} />}
      </dl>
    </section>
  );
}

function sinceStart({ calls, startedAt }: RunReport): number {
  const elapsedMs = nowMs.value - Date.parse(startedAt ?? "");
  return elapsedMs > 1_000 ? (calls * 60_000) / elapsedMs : 0;
}

function QuotaFigure({ bucket }: { bucket: BucketReport }): JSX.Element {
  const { limit, left, reserve, secondsToRefresh } = bucket;
  if (limit === null || left === null) return <Figure label={text.quotaLeft}>–</Figure>;
  const resetsIn = secondsToRefresh === null ? undefined : duration(secondsToRefresh);
  return (
    <Figure label={text.quotaLeft} note={text.quotaHint(limit, resetsIn)}>
      {grouped(left)}
      <QuotaMeter left={left} limit={limit} reserve={reserve ?? 0} />
    </Figure>
  );
}

function endText(seconds: number): string {
  const end = new Date(nowMs.peek() + seconds * 1_000);
  return `${localTime(end.toISOString()).slice(seconds > 72_000 ? 0 : 11, 16)} ${zoneOf(end)}`;
}

function takenText({ startedAt, finishedAt }: RunReport): string {
  if (startedAt === null || finishedAt === null) return "–";
  return duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1_000);
}
