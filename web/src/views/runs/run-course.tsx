/**
 * The course of a run: its speed compared with the quota, outcomes and calls per window, and the reasons of rows that
 * are not done.
 */
import type { JSX } from "preact";
import { nowMs } from "../../clock.ts";
import { type Live, useLive } from "../../live.ts";
import { Badge } from "../../parts/badge.tsx";
import { Figure, QuotaMeter } from "../../parts/charts/bars.tsx";
import { Panel, ProblemNotice } from "../../parts/notice.tsx";
import { Plot } from "../../parts/charts/plot.tsx";
import { Table } from "../../parts/table.tsx";
import { replacePlace } from "../../place.ts";
import { bucketOf } from "../../pure/bucket.ts";
import { duration, grouped, listed, localTime, percent, zoneOf } from "../../pure/format.ts";
import { hrefOf } from "../../pure/route.ts";
import { callsPerMinute, filledWindows } from "../../pure/runs/run-course.ts";
import {
  type BucketReport,
  type OperationReport,
  type RunReport,
  type RunSummary,
  outcomes,
} from "../../pure/shapes.ts";
import { isOver, retryable } from "../../pure/runs/tally.ts";
import { Said } from "../../parts/ref.tsx";
import { ActionButton } from "../../parts/action.tsx";
import { DownloadButton, followUp } from "./run-actions.tsx";

/** The counts of a run over time; none once its rows were removed. */
export function useSummary(report: RunReport | undefined): Live<RunSummary> {
  const isThere = report !== undefined && report.rowsRemovedAt === undefined;
  const address = isThere ? `/v1/runs/${encodeURIComponent(report.runId)}/summary` : undefined;
  return useLive<RunSummary>(address, { ms: isThere && !isOver(report.state) ? 5_000 : 60_000, andOn: ["run."] });
}

interface CourseProps {
  readonly report: RunReport;
  readonly summary: Live<RunSummary>;
  readonly operation: OperationReport | undefined;
}

/** The quota that the calls of a run use. */
export function useBucketOf(report: RunReport | undefined, group: string | undefined): BucketReport | undefined {
  const isGoing = report !== undefined && !isOver(report.state);
  const { value } = useLive<{ buckets: BucketReport[] }>("/v1/buckets", { ms: isGoing ? 2_000 : 60_000 });
  return report && bucketOf(value?.buckets ?? [], { profile: report.profile, group });
}

export function RunCourse({ report, summary: { value, problem }, operation }: CourseProps): JSX.Element | null {
  if (report.rowsRemovedAt !== undefined) return null;
  if (value === undefined) return <ProblemNotice problem={problem} />;
  return (
    <>
      <Timeline summary={value} />
      {value.reasons.length > 0 && (
        <Reasons summary={value} report={report} isRepeatable={operation?.repeat === "safe"} />
      )}
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
        <Plot
          says={`Rows per ${window}`}
          height={110}
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
        <Plot
          says={`Calls per ${window}`}
          height={110}
          times={times}
          series={[
            { name: "calls", kind: "bars", color: "--series-3", values: windows.map(({ calls }) => calls) },
            ...(shares.length === 0
              ? []
              : [{ name: "quota", color: "--series-2", dash: [7, 4], values: windows.map(({ quota }) => quota) }]),
          ]}
        />
      </div>
    </Panel>
  );
}

interface ReasonsProps {
  readonly summary: RunSummary;
  readonly report: RunReport;
  readonly isRepeatable: boolean;
}

function Reasons({ summary: { reasons, reasonsInAll }, report, isRepeatable }: ReasonsProps): JSX.Element {
  const { runId, state } = report;
  const canRetry = isOver(state) && isRepeatable;
  const notDone = outcomes.filter((one) => reasons.some(({ outcome }) => outcome === one));
  return (
    <Panel
      title="Why rows are not done"
      hint={
        reasons.length === reasonsInAll
          ? undefined
          : `The ${reasons.length} most frequent of ${grouped(reasonsInAll)} reasons`
      }
      actions={
        <DownloadButton report={report} outcomes={notDone}>
          {`Download ${listed(notDone)} rows`}
        </DownloadButton>
      }
    >
      <Table
        isDense
        label="Why rows are not done"
        rows={reasons}
        keyOf={({ outcome, reason }) => `${outcome} ${reason}`}
        columns={[
          { label: "Rows", kind: "number", cell: ({ rows }) => <b>{grouped(rows)}</b> },
          { label: "Outcome", kind: "tight", cell: ({ outcome }) => <Badge state={outcome} /> },
          { label: "Reason", cell: ({ reason }) => <Said text={reason} /> },
          {
            label: "Actions",
            kind: "act",
            cell: ({ outcome, reason, rows }) => (
              <div class="actions">
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
                {canRetry && retryable.includes(outcome) && (
                  <ActionButton
                    isSmall
                    needs="operator"
                    work={() => followUp(report, "retry", { outcomes: [outcome], reason })}
                  >
                    {rows === 1 ? "Retry this row" : `Retry these ${grouped(rows)}`}
                  </ActionButton>
                )}
              </div>
            ),
          },
        ]}
      />
    </Panel>
  );
}

interface FiguresProps extends Pick<CourseProps, "report"> {
  readonly bucket: BucketReport | undefined;
  readonly summary: RunSummary | undefined;
}

export function RunFigures({ report, summary, bucket }: FiguresProps): JSX.Element {
  const { state, calls, throttled, counts, etaSeconds, startedAt, problem } = report;
  const isGoing = !isOver(state);
  // The summary has calls of rows with an outcome only: while the run makes no progress, their rate says nothing.
  const isMeasured = state === "running" && problem === undefined;
  const perMinute = summary && isMeasured ? callsPerMinute(summary, startedAt) : undefined;
  return (
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
      <Figure label="Rate-limited (429)" note={throttled === 0 ? undefined : "probably another caller used the quota"}>
        {grouped(throttled)}
      </Figure>
      {isGoing && bucket !== undefined && <QuotaFigure bucket={bucket} />}
    </dl>
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
