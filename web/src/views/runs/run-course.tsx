/**
 * The course of a run: its speed compared with the quota, outcomes and calls per window, and the reasons of rows that are
 * not done.
 */
import type { JSX } from "preact";
import { nowMs } from "../../clock.ts";
import { type Live, useLive } from "../../live.ts";
import { Badge } from "../../parts/badge.tsx";
import { Figure, QuotaMeter } from "../../parts/bars.tsx";
import { Panel, ProblemNotice } from "../../parts/notice.tsx";
import { Plot } from "../../parts/plot.tsx";
import { Table } from "../../parts/table.tsx";
import { replacePlace } from "../../place.ts";
import { bucketOf } from "../../pure/bucket.ts";
import { duration, grouped, localTime, percent, zoneOf } from "../../pure/format.ts";
import { hrefOf } from "../../pure/route.ts";
import { callsPerMinute, filledWindows } from "../../pure/runs/run-course.ts";
import type { BucketReport, RunReport, RunSummary } from "../../pure/shapes.ts";
import { isOver } from "../../pure/runs/tally.ts";
import { Said } from "../../parts/ref.tsx";

/** The counts of a run over time; none once its rows were removed. */
export function useSummary(report: RunReport | undefined): Live<RunSummary> {
  const isThere = report !== undefined && report.rowsRemovedAt === undefined;
  const address = isThere ? `/v1/runs/${encodeURIComponent(report.runId)}/summary` : undefined;
  return useLive<RunSummary>(address, { ms: isThere && !isOver(report.state) ? 5_000 : 60_000, andOn: ["run."] });
}

export function RunCourse({
  report: { runId, rowsRemovedAt },
  summary: { value, problem },
}: {
  report: RunReport;
  summary: Live<RunSummary>;
}): JSX.Element | null {
  if (rowsRemovedAt !== undefined) return null;
  if (value === undefined) return <ProblemNotice problem={problem} />;
  return (
    <>
      <Timeline summary={value} />
      {value.reasons.length > 0 && <Reasons summary={value} runId={runId} />}
    </>
  );
}

function Timeline({ summary }: { summary: RunSummary }): JSX.Element {
  const windows = filledWindows(summary);
  const window = duration(summary.windowSeconds);
  const shares = windows.flatMap(({ calls, quota }) => (quota === null ? [] : [calls / quota]));
  const times = windows.map(({ at }) => Date.parse(at) / 1_000);
  const notDone = (one: (typeof windows)[number]): number => one.rejected + one.failed + one.unknown;
  if (windows.length === 0) {
    return (
      <Panel title="Timeline">
        <p class="quiet">No row has an outcome yet.</p>
      </Panel>
    );
  }
  const use =
    shares.length === 0 ? "" : ` · ${percent(Math.max(...shares), 1)} of the quota used in the busiest window`;
  return (
    <Panel title="Timeline" hint={`Outcomes and calls per ${window}${use}`}>
      <div class="columns">
        <section>
          <h3>Rows</h3>
          <Plot
            says={`Rows per ${window}`}
            height={150}
            times={times}
            series={[
              {
                name: "done or skipped",
                kind: "bars",
                color: "--series-1",
                values: windows.map(({ done, skipped }) => done + skipped),
              },
              { name: "not done", kind: "bars", color: "--bad", values: windows.map(notDone) },
            ]}
          />
        </section>
        <section>
          <h3>Calls</h3>
          <Plot
            says={`Calls per ${window}`}
            height={150}
            times={times}
            series={[
              { name: "calls", kind: "bars", color: "--series-3", values: windows.map(({ calls }) => calls) },
              ...(shares.length === 0
                ? []
                : [{ name: "quota", color: "--series-2", dash: [7, 4], values: windows.map(({ quota }) => quota) }]),
            ]}
          />
        </section>
      </div>
    </Panel>
  );
}

function Reasons({ summary, runId }: { summary: RunSummary; runId: string }): JSX.Element {
  const { reasons, reasonsInAll } = summary;
  return (
    <Panel
      title="Why rows are not done"
      hint={
        reasons.length === reasonsInAll
          ? "Grouped by reason, most frequent first"
          : `The ${reasons.length} most frequent of ${grouped(reasonsInAll)} reasons`
      }
    >
      <Table
        label="Why rows are not done"
        rows={reasons}
        keyOf={({ outcome, reason }) => `${outcome} ${reason}`}
        columns={[
          { label: "Rows", kind: "number", cell: ({ rows }) => <b>{grouped(rows)}</b> },
          { label: "Outcome", kind: "tight", cell: ({ outcome }) => <Badge state={outcome} /> },
          { label: "Reason", cell: ({ reason }) => <Said text={reason} /> },
          {
            label: "Show the rows",
            kind: "act",
            cell: ({ outcome, reason }) => (
              <a
                href={hrefOf("runs", runId, { outcome, reason })}
                aria-label={`Show the rows with the reason: ${reason}`}
                onClick={(event) => {
                  event.preventDefault();
                  replacePlace(hrefOf("runs", runId, { outcome, reason }));
                  document.getElementById("rows")?.scrollIntoView();
                }}
              >
                Show the rows
              </a>
            ),
          },
        ]}
      />
    </Panel>
  );
}

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
  const { limit, left, kept, secondsToRefresh } = bucket;
  if (limit === null || left === null) return <Figure label="Quota left">–</Figure>;
  const resetsIn = secondsToRefresh === null ? undefined : duration(secondsToRefresh);
  return (
    <Figure label="Quota left" note={`of ${grouped(limit)}${resetsIn === undefined ? "" : ` · resets in ${resetsIn}`}`}>
      {grouped(left)}
      <QuotaMeter left={left} limit={limit} kept={kept ?? 0} />
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
