/** The report of a run, shared by `runs show --json`, `apply --json` and the control API. */
import { isoTime } from "#core/time.ts";
import { type ProblemReport, isLasting, reportOfProblem } from "#engine/problem.ts";
import { isRunOver } from "#fleet/run.ts";
import type { RunState, Tally } from "#fleet/run.ts";
import type { RunRecord } from "./ledger/run-record.ts";
import { type QuotaView, leastTimeMs } from "./plan/quota-estimate.ts";

export interface RunReport {
  readonly runId: string;
  readonly name: string;
  readonly state: RunState;
  readonly profile: string;
  readonly counts: Tally;
  /** Calls made, including those that were refused or whose response was lost. */
  readonly calls: number;
  /** Responses with 429 among them. */
  readonly throttled: number;
  /** ISO 8601, UTC; null before the start. */
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** Minimum time to the end at the current quota; null if the run has ended, is paused, has a problem, or the quota is unknown. */
  readonly etaSeconds: number | null;
  /** Why it ended early or is paused, if a reason is known. */
  readonly reason?: string;
  /** Why its calls currently get no usable response, and when the next attempt is due. */
  readonly problem?: ProblemReport;
  /** Who submitted it: `cli:anna`, `schedule:nightly`. */
  readonly submittedBy?: string;
  /** The run whose unsuccessful rows this run retries. */
  readonly retryOf?: string;
  /** The run whose changes this run undoes. */
  readonly undoOf?: string;
}

export function reportOf(run: RunRecord, quota: QuotaView): RunReport {
  const { runId, name, state, profile, tally, calls, throttled, reason, problem, retryOf, undoOf } = run;
  const hasProblem = problem !== undefined && isLasting(problem) && !isRunOver(state);
  const leftMs = leastTimeMs(tally.pending, quota, run.options.callsPerMinute);
  const hasEta = state === "running" && leftMs !== undefined && !hasProblem;
  return {
    runId,
    name,
    state,
    profile,
    counts: tally,
    calls,
    throttled,
    startedAt: isoTime(run.startedAtMs),
    finishedAt: isoTime(run.finishedAtMs),
    etaSeconds: hasEta ? Math.ceil(leftMs / 1_000) : null,
    ...(reason === undefined ? {} : { reason }),
    ...(hasProblem ? { problem: reportOfProblem(problem) } : {}),
    ...(run.submittedBy === undefined ? {} : { submittedBy: run.submittedBy }),
    ...(retryOf === undefined ? {} : { retryOf }),
    ...(undoOf === undefined ? {} : { undoOf }),
  };
}

/** Exit code of a command that followed a run to its end. */
export function exitCodeOf(report: Pick<RunReport, "counts">): 0 | 1 {
  const { counts } = report;
  return counts.rejected + counts.failed + counts.cancelled + counts.pending > 0 ? 1 : 0;
}
