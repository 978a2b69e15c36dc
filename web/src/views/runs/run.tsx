/** One run: how it stands, what it changes, its course, why rows are not done, and the outcome of each row. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useLive } from "../../live.ts";
import { RunBadge } from "../../parts/badge.tsx";
import { OutcomeBar, OutcomeLegend } from "../../parts/charts/bars.tsx";
import { CurrentProblemNotice, Loaded, Notice, ProblemNotice } from "../../parts/notice.tsx";
import { Copy, Ref, Said } from "../../parts/ref.tsx";
import { Ago } from "../../parts/time.tsx";
import { View } from "../../parts/view.tsx";
import { counted, grouped, percent } from "../../pure/format.ts";
import { canUndo } from "../../pure/runs/operation.ts";
import type { OperationReport, RunReport, RunState } from "../../pure/shapes.ts";
import { aheadText, changedText, settledRows } from "../../pure/runs/tally.ts";
import { useOperations } from "../new-run/operations.ts";
import { RunActions } from "./run-actions.tsx";
import { RunCourse, RunFigures, useBucketOf, useSummary } from "./run-course.tsx";
import { RunRows } from "./run-rows.tsx";

const stateHints = {
  planned: "It can be started for an hour after it was planned.",
  paused: "Nothing is lost. Resume it when you are ready.",
  aborted: "Completed rows stay changed. Check the rejected and failed rows below, then retry.",
  "awaiting-approval": "It starts when someone other than the submitter approves it.",
} as Partial<Record<RunState, string>>;

export function RunView({ runId }: { runId: string }): JSX.Element {
  const run = useLive<RunReport>(`/v1/runs/${encodeURIComponent(runId)}`, { ms: 1_000, andOn: ["run."] });
  const report = run.value;
  const { operation, hasUndo } = useOperationOf(report);
  const course = useSummary(report);
  const bucket = useBucketOf(report, operation?.group);
  if (report === undefined) {
    return (
      <View title={`Run ${runId}`}>
        <Loaded live={run} what="run">
          {() => null}
        </Loaded>
      </View>
    );
  }
  const { name, counts, submittedBy, wave } = report;
  const unnamed = [`Run ${runId} `, <Copy key="copy" id={runId} />];
  return (
    <View
      title={name === "" ? unnamed : name}
      says={
        <>
          {name !== "" && <Ref id={runId} />}
          {operation !== undefined && ` (${operation.summary})`}
          {submittedBy !== undefined && ` by ${submittedBy}`}
          {" · started "}
          <Ago at={report.startedAt} none="not yet" />
          <Lineage report={report} />
        </>
      }
      actions={<RunActions {...{ report, operation, hasUndo }} onChanged={run.put} />}
    >
      <ProblemNotice problem={run.problem} what="Data may be out of date" />
      <Stop report={report} />
      <UnknownRows counts={counts} />
      <CurrentProblemNotice problem={report.problem} />
      {report.calls === 0 && (report.ahead?.startsInSeconds ?? 0) > 0 && (
        <Notice kind="plain" icon="waiting">
          <span>
            It <Said text={`${aheadText(report)}.`} />
          </span>
        </Notice>
      )}
      <section class="panel form" aria-label="Progress">
        <div class="progress-head">
          <div class="progress-number">
            {`${grouped(counts.done)} of ${grouped(counts.total)} done`}
            {wave !== undefined && ` · ${wave.state} in wave ${wave.number} of ${wave.of}`}
            <RunBadge run={report} />
          </div>
          <p class="sentence prose">{changedText(report)}</p>
        </div>
        <div>
          <OutcomeBar counts={counts} />
          <OutcomeLegend counts={counts} />
        </div>
        <RunFigures report={report} summary={course.value} bucket={bucket} />
        <Heard report={report} />
      </section>
      <RunCourse report={report} operation={operation} summary={course} />
      <RunRows report={report} isRepeatable={operation?.repeat === "safe"} />
    </View>
  );
}

/** The operation of a run as the platform definition describes it now, and whether the run could be undone. */
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
  // It went on since.
  if (state !== "paused" && reason?.startsWith("paused by ") === true) return null;
  const hint = stateHints[state];
  if (reason === undefined && (hint === undefined || state === "paused")) return null;
  const said = reason === undefined ? undefined : reason.charAt(0).toUpperCase() + reason.slice(1);
  return (
    <Notice kind={state === "aborted" ? "bad" : state === "running" || state === "completed" ? "plain" : "warn"}>
      {said !== undefined && (
        <b>
          <Said text={said} />
        </b>
      )}
      {hint !== undefined && <span>{hint}</span>}
    </Notice>
  );
}

/** Announces the numbers of the screen to screen readers at every tenth and every change of state, not in between. */
function Heard({ report: { state, counts } }: { report: RunReport }): JSX.Element {
  const settled = settledRows(counts);
  const tenths = counts.total === 0 ? 10 : Math.floor((10 * settled) / counts.total);
  const said = useMemo(() => {
    const rows = `${grouped(settled)} of ${counted(counts.total, "row")} finished`;
    return `The run is ${state.replaceAll("-", " ")}: ${percent(settled, counts.total)}, ${rows}.`;
  }, [state, tenths]);
  return (
    <span class="only-heard" role="status" aria-live="polite">
      {said}
    </span>
  );
}
