/** One run: its status, its speed, its actions, and the outcome of each row. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useLive } from "../../live.ts";
import { Badge } from "../../parts/badge.tsx";
import { OutcomeBar, OutcomeLegend } from "../../parts/bars.tsx";
import { CurrentProblemNotice, Loaded, Notice, ProblemNotice } from "../../parts/notice.tsx";
import { Ref, Said } from "../../parts/ref.tsx";
import { At } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { percent, grouped, counted } from "../../pure/format.ts";
import { canUndo } from "../../pure/runs/operation.ts";
import type { OperationReport, RunReport, RunState } from "../../pure/shapes.ts";
import { isOver, settledRows } from "../../pure/runs/tally.ts";
import { useOperations } from "../new-run/operations.ts";
import { RunActions } from "./run-actions.tsx";
import { RunCourse, RunFigures, useSummary } from "./run-course.tsx";
import { RunRows } from "./run-rows.tsx";

const rowsFinished = (settled: number, total: number) => `${grouped(settled)} of ${grouped(total)} rows finished`;
const stateHints = {
  planned: "It can be started for an hour after it was planned.",
  paused: "Nothing is lost. Fix the cause, then resume.",
  aborted: "Completed rows stay changed. Check the rejected and failed rows below, then retry.",
  "awaiting-approval": "It starts when someone other than the submitter approves it.",
} as Partial<Record<RunState, string>>;

export function RunView({ runId }: { runId: string }): JSX.Element {
  const run = useLive<RunReport>(`/v1/runs/${encodeURIComponent(runId)}`, { ms: 1_000, andOn: ["run."] });
  const report = run.value;
  const { operation, hasUndo } = useOperationOf(report);
  const course = useSummary(report);
  if (report === undefined) {
    return (
      <View title={`Run ${runId}`}>
        <Loaded live={run} what="run">
          {() => null}
        </Loaded>
      </View>
    );
  }
  const { name, state, counts, profile, submittedBy } = report;
  const summary = operation === undefined ? "" : ` (${operation.summary})`;
  return (
    <View
      title={name === "" ? runId : name}
      says={
        <>
          <b>{report.operation}</b>
          {summary} · <Ref id={runId} />
          {` · profile ${profile}`}
          {submittedBy !== undefined && ` · by ${submittedBy}`}
          <Lineage report={report} />
        </>
      }
      actions={<RunActions {...{ report, operation, hasUndo }} onChanged={run.put} />}
    >
      <ProblemNotice problem={run.problem} what="Data may be out of date" />
      <Stop report={report} />
      <UnknownRows counts={counts} />
      <CurrentProblemNotice problem={report.problem} />
      <section class="panel" aria-label="Progress">
        <div class="progress-head">
          <div class="progress-number">
            {percent(settledRows(counts), counts.total)}
            <Badge state={state} />
          </div>
          <p class="quiet">{rowsFinished(settledRows(counts), counts.total)}</p>
        </div>
        <OutcomeBar counts={counts} />
        <OutcomeLegend counts={counts} />
        <Heard report={report} />
      </section>
      <RunFigures report={report} summary={course.value} group={operation?.group} />
      <RunCourse report={report} summary={course} />
      <RunRows
        report={report}
        isLive={!isOver(state) || counts.pending > 0}
        isRepeatable={operation && operation.repeat === "safe"}
      />
      <p class="quiet">
        Started <At at={report.startedAt} none="not yet" />
        {report.finishedAt !== null && (
          <>
            {", finished"} <At at={report.finishedAt} />
          </>
        )}
      </p>
    </View>
  );
}

/** The operation of a run as the deployment describes it now, and whether the run could be undone. */
function useOperationOf(report: RunReport | undefined): { operation: OperationReport | undefined; hasUndo: boolean } {
  const { value } = useOperations(report?.profile);
  const undoOf = report?.undoOf;
  const undone = useLive<RunReport>(undoOf === undefined ? undefined : `/v1/runs/${encodeURIComponent(undoOf)}`, {
    ms: 3_600_000,
  });
  const named = (name: string | undefined): OperationReport | undefined =>
    value?.operations.find((one) => one.name === name);
  const operation = named(report?.operation);
  const before = named(undone.value?.operation);
  const isKnown = undoOf === undefined || before !== undefined;
  return { operation, hasUndo: isKnown && canUndo(operation, before) };
}

/** Rows that nobody but the platform knows the result of. */
function UnknownRows({ counts: { unknown } }: Pick<RunReport, "counts">): JSX.Element | null {
  if (unknown === 0) return null;
  return (
    <Notice kind="warn">
      <b>{`${counted(unknown, "row has", "rows have")} an unknown outcome`}</b>
      <span>
        The call was sent once and its response was lost, so it may have taken effect. It is not sent again, because a
        second call could do harm. Open the SIM below and read it from the platform to see the outcome.
      </span>
    </Notice>
  );
}

function Lineage({ report: { retryOf, undoOf, supersededBy = [] } }: { report: RunReport }): JSX.Element {
  const before = retryOf ?? undoOf;
  return (
    <>
      {before !== undefined && (
        <>
          {retryOf === undefined ? " · undoes " : " · retries rows of "}
          <Ref id={before} />
        </>
      )}
      {supersededBy.map(({ runId, rows }) => (
        <span key={runId}>
          {` · ${counted(rows, "row")} superseded by `}
          <Ref id={runId} />
        </span>
      ))}
    </>
  );
}

/** Why it is paused, the first thing that an operator on call looks for. */
function Stop({ report: { state, reason } }: { report: RunReport }): JSX.Element | null {
  const fix = stateHints[state];
  if (reason === undefined && (fix === undefined || state === "paused")) return null;
  const said = reason === undefined ? undefined : reason.charAt(0).toUpperCase() + reason.slice(1);
  return (
    <Notice kind={state === "aborted" ? "bad" : state === "running" || state === "completed" ? "plain" : "warn"}>
      {said !== undefined && (
        <b>
          <Said text={said} />
        </b>
      )}
      {fix !== undefined && <span>{fix}</span>}
    </Notice>
  );
}

/** Announces the numbers of the screen to screen readers at every tenth and at every change of state, not in between. */
function Heard({ report: { state, counts } }: { report: RunReport }): JSX.Element {
  const settled = settledRows(counts);
  const tenths = counts.total === 0 ? 10 : Math.floor((10 * settled) / counts.total);
  const said = useMemo(() => {
    const rows = rowsFinished(settled, counts.total);
    return `The run is ${state.replaceAll("-", " ")}: ${percent(settled, counts.total)}, ${rows}.`;
  }, [state, tenths]);
  return (
    <span class="only-heard" role="status" aria-live="polite">
      {said}
    </span>
  );
}
