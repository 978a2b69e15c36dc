/** The report of a run, shared by `runs show --json`, `apply --json` and the control API. */
import { reportOf } from "#contract/fields.ts";
import { isoTime, systemClock } from "#core/time.ts";
import { isLasting, reportOfProblem } from "#engine/problem.ts";
import { isRunOver } from "#fleet/run.ts";
import type { Activity } from "#engine/activity-log.ts";
import { type RunReport, runReport } from "./contract.ts";
import type { RunRecord } from "./ledger/run-record.ts";
import { type Forecast, aheadOf } from "./plan/forecast.ts";
import { changedBy, reportOfWaves } from "./plan/plans.ts";

/** @param forecast of its calls; undefined if it is not running, or nothing is known */
export function reportOfRun(run: RunRecord, forecast?: Forecast): RunReport {
  const { state, problem, supersededBy } = run;
  const hasProblem = problem !== undefined && isLasting(problem) && !isRunOver(state);
  const expected = state === "running" && !hasProblem ? forecast : undefined;
  return reportOf(runReport, {
    ...run,
    ...changedBy(run),
    counts: run.tally,
    etaSeconds: expected && Math.ceil(expected.endMs / 1_000),
    ahead: aheadOf(expected),
    wave: toWaveReport(run),
    waves: reportOfWaves(run, run.checks),
    problem: hasProblem ? reportOfProblem(problem) : undefined,
    supersededBy: supersededBy.length === 0 ? undefined : supersededBy,
  });
}

function toWaveReport({ state, waves, wave, soakUntilMs: soak }: RunRecord): RunReport["wave"] {
  if (waves.length < 2 || isRunOver(state)) return undefined;
  const doing = soak === undefined ? "running" : soak > systemClock.wallMs() ? "soaking" : "checking";
  return { number: wave + 1, of: waves.length, state: doing, until: isoTime(soak) };
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
