/** The report of a run, shared by `runs show --json`, `apply --json` and the control API. */
import { isoTime, systemClock } from "#core/time.ts";
import { isLasting, reportOfProblem } from "#engine/problem.ts";
import { isRunOver } from "#fleet/run.ts";
import type { Activity } from "#engine/activity-log.ts";
import type { RunReport } from "./contract.ts";
import type { RunRecord } from "./ledger/run-record.ts";
import { type Forecast, aheadOf } from "./plan/forecast.ts";
import { changedBy, reportOfWaves } from "./plan/plans.ts";

/** @param forecast of its calls; undefined if it is not running, or nothing is known */
export function reportOf(run: RunRecord, forecast?: Forecast): RunReport {
  const { runId, name, state, tally, calls, throttled, reason, problem, retryOf, undoOf } = run;
  const hasProblem = problem !== undefined && isLasting(problem) && !isRunOver(state);
  const expected = state === "running" && !hasProblem ? forecast : undefined;
  return {
    runId,
    name,
    state,
    ...changedBy(run),
    counts: tally,
    calls,
    throttled,
    startedAt: isoTime(run.startedAtMs),
    finishedAt: isoTime(run.finishedAtMs),
    etaSeconds: expected === undefined ? null : Math.ceil(expected.endMs / 1_000),
    ...aheadOf(expected),
    ...waveOf(run),
    ...reportOfWaves(run, run.checks),
    ...(reason === undefined ? {} : { reason }),
    ...(run.rowsRemovedAtMs === undefined ? {} : { rowsRemovedAt: new Date(run.rowsRemovedAtMs).toISOString() }),
    ...(run.archive === undefined ? {} : { archive: run.archive }),
    ...(hasProblem ? { problem: reportOfProblem(problem) } : {}),
    ...(run.submittedBy === undefined ? {} : { submittedBy: run.submittedBy }),
    ...(retryOf === undefined ? {} : { retryOf }),
    ...(undoOf === undefined ? {} : { undoOf }),
    ...(run.supersededBy.length === 0 ? {} : { supersededBy: run.supersededBy }),
  };
}

function waveOf({ state, waves, wave, soakUntilMs: soak }: RunRecord): Pick<RunReport, "wave"> {
  if (waves.length < 2 || isRunOver(state)) return {};
  const doing = soak === undefined ? "running" : soak > systemClock.wallMs() ? "soaking" : "checking";
  return { wave: { number: wave + 1, of: waves.length, state: doing, until: isoTime(soak) } };
}

/** Exit code of a command that followed a run to its end. */
export function exitCodeOf(report: Pick<RunReport, "counts">): 0 | 1 {
  const { counts } = report;
  const { rejected, failed, unknown, cancelled, pending } = counts;
  return rejected + failed + unknown + cancelled + pending > 0 ? 1 : 0;
}

/** The newest runs for the log, the oldest first. */
export function activityOfRuns(reports: readonly RunReport[]): Activity[] {
  return reports.toReversed().map(({ runId, profile, name, counts, state, submittedBy }) => ({
    id: runId,
    state,
    isOver: isRunOver(state),
    facts: { runId, profile, name, by: submittedBy, ...counts },
    what: "the run",
    end: `ended: ${state}`,
  }));
}
