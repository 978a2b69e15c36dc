/** The speed of a run, compared with its quota. */
import type { JSX } from "preact";
import { nowMs } from "../../clock.ts";
import { useLive } from "../../live.ts";
import { Figure, QuotaMeter } from "../../parts/bars.tsx";
import { duration, grouped, localTime, zoneOf } from "../../pure/format.ts";
import { callsPerMinute } from "../../pure/runs/run-course.ts";
import type { BucketReport, RunReport, RunSummary } from "../../pure/shapes.ts";
import { isOver } from "../../pure/runs/tally.ts";
import { bucketOf } from "../../pure/bucket.ts";

/** @param group of the API whose quota its calls use */
export function RunFigures({
  report,
  summary,
  group,
}: {
  report: RunReport;
  summary: RunSummary | undefined;
  group: string | undefined;
}): JSX.Element {
  const { state, calls, throttled, counts, etaSeconds, startedAt, problem } = report;
  const isGoing = !isOver(state);
  // The summary has calls of rows with an outcome only: while the run makes no progress, their rate says nothing.
  const isMeasured = state === "running" && problem === undefined;
  const perMinute = summary && isMeasured ? callsPerMinute(summary, startedAt) : undefined;
  const buckets = useLive<{ buckets: BucketReport[] }>(isGoing ? "/v1/buckets" : undefined, { ms: 2_000 });
  const bucket = bucketOf(buckets.value?.buckets ?? [], { profile: report.profile, group });
  return (
    <section class="panel" aria-label="Summary">
      <dl class="figures">
        {isGoing && (
          <Figure label="Time left" note={etaSeconds === null ? undefined : `about ${endText(etaSeconds)}`}>
            {etaSeconds === null ? "–" : duration(etaSeconds)}
          </Figure>
        )}
        {isGoing && (
          <Figure label="Calls per minute" note={summary && isMeasured ? rateNote(summary, perMinute) : undefined}>
            {perMinute === undefined ? "–" : grouped(Math.round(perMinute))}
          </Figure>
        )}
        {!isGoing && <Figure label="Duration">{takenText(report)}</Figure>}
        <Figure label="Calls" note={counts.skipped > 0 ? "skipped rows need none" : undefined}>
          {grouped(calls)}
        </Figure>
        <Figure label="Rate-limited (429)" note={throttled === 0 ? undefined : "another caller used the quota"}>
          {grouped(throttled)}
        </Figure>
        {isGoing && bucket !== undefined && <QuotaFigure bucket={bucket} />}
      </dl>
    </section>
  );
}

function rateNote({ windowSeconds }: RunSummary, perMinute: number | undefined): string {
  const window = duration(windowSeconds);
  return perMinute === undefined ? `known after a full ${window}` : `in the last full ${window}`;
}

function QuotaFigure({ bucket }: { bucket: BucketReport }): JSX.Element {
  const { limit, left, reserve, secondsToRefresh } = bucket;
  if (limit === null || left === null) return <Figure label="Quota left">–</Figure>;
  const resetsIn = secondsToRefresh === null ? undefined : duration(secondsToRefresh);
  return (
    <Figure label="Quota left" note={`of ${grouped(limit)}${resetsIn === undefined ? "" : ` · resets in ${resetsIn}`}`}>
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
