/** One run: its status, its speed, its actions, and the outcome of each row. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useLive } from "../../live.ts";
import { Badge } from "../../parts/badge.tsx";
import { OutcomeBar, OutcomeLegend } from "../../parts/bars.tsx";
import { CurrentProblemNotice, Notice, ProblemNotice, Waiting } from "../../parts/notice.tsx";
import { Ref } from "../../parts/ref.tsx";
import { At } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { percent } from "../../pure/format.ts";
import { canUndo } from "../../pure/runs/operation.ts";
import type { OperationReport, RunReport } from "../../pure/shapes.ts";
import { isOver, settledRows } from "../../pure/runs/tally.ts";
import { runText as text } from "../../strings/run.ts";
import { useOperations } from "../new-run/operations.ts";
import { RunActions } from "./run-actions.tsx";
import { RunCourse, useSummary } from "./run-course.tsx";
import { RunFigures } from "./run-figures.tsx";
import { RunRows } from "./run-rows.tsx";
import { Said } from "../../parts/said.tsx";

export function RunView({ runId }: { runId: string }): JSX.Element {
  const run = useLive<RunReport>(`/v1/runs/${encodeURIComponent(runId)}`, { ms: 1_000, andOn: ["run."] });
  const report = run.value;
  const { operation, hasUndo } = useOperationOf(report);
  const course = useSummary(report);
  if (report === undefined) {
    return (
      <View title={text.title(runId)}>
        {run.problem === undefined && <Waiting what={text.reading} />}
        <ProblemNotice problem={run.problem} what={text.failed} />
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
          {text.ofProfile(profile)}
          {submittedBy !== undefined && text.by(submittedBy)}
          <Lineage report={report} />
        </>
      }
      actions={<RunActions {...{ report, operation, hasUndo }} onChanged={run.put} />}
    >
      <ProblemNotice problem={run.problem} what={text.outOfDate} />
      <Stop report={report} />
      <UnknownRows counts={counts} />
      <CurrentProblemNotice problem={report.problem} />
      <section class="panel" aria-label={text.progress}>
        <div class="progress-head">
          <div class="progress-number">
            {percent(settledRows(counts), counts.total)}
            <Badge state={state} />
          </div>
          <p class="quiet">{text.rowsFinished(settledRows(counts), counts.total)}</p>
        </div>
        <OutcomeBar counts={counts} />
        <OutcomeLegend counts={counts} />
        <Heard report={report} />
      </section>
      <RunFigures report={report} summary={course.value} group={operation?.group} />
      <RunCourse report={report} summary={course} group={operation?.group} />
      <RunRows
        report={report}
        isLive={!isOver(state) || counts.pending > 0}
        isRepeatable={operation && operation.repeat === "safe"}
      />
      <p class="quiet">
        {text.startedAt} <At at={report.startedAt} none={text.notStarted} />
        {report.finishedAt !== null && (
          <>
            {text.finishedAt} <At at={report.finishedAt} />
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
      <b>{text.unknownRows(unknown)}</b>
      <span>{text.unknownRowsHint}</span>
    </Notice>
  );
}

function Lineage({ report: { retryOf, undoOf } }: { report: RunReport }): JSX.Element | null {
  const before = retryOf ?? undoOf;
  if (before === undefined) return null;
  return (
    <>
      {retryOf === undefined ? text.undoOf : text.retryOf}
      <Ref id={before} />
    </>
  );
}

/** Why it is paused, the first thing that an operator on call looks for. */
function Stop({ report: { state, reason } }: { report: RunReport }): JSX.Element | null {
  const fix = text.stateHints[state];
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
    const rows = text.rowsFinished(settled, counts.total);
    return text.heard(state.replaceAll("-", " "), percent(settled, counts.total), rows);
  }, [state, tenths]);
  return (
    <span class="only-heard" role="status" aria-live="polite">
      {said}
    </span>
  );
}
