/** A run as people and programs are shown it: the one shape of `runs show --json`, `apply --json` and the control API. */
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
  /** Calls made, those that were refused or whose answer was lost included. */
  readonly calls: number;
  /** Answers of 429 among them. */
  readonly throttled: number;
  /** ISO 8601, UTC; null before the start. */
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** Least time to the end at the present quota; null when it is over, paused, has a problem, or the quota is unknown. */
  readonly etaSeconds: number | null;
  /** Why it ended early or stands still, where there is something to say. */
  readonly reason?: string;
  /** Why its calls get no usable answer at present, and when the next attempt comes. */
  readonly problem?: ProblemReport;
  /** Who submitted it: `cli:anna`, `schedule:nightly`. */
  readonly submittedBy?: string;
  /** The run whose unsuccessful rows this one redoes. */
  readonly retryOf?: string;
  /** The run whose changes this one puts back. */
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
    startedAt: instant(run.startedAtMs),
    finishedAt: instant(run.finishedAtMs),
    etaSeconds: hasEta ? Math.ceil(leftMs / 1_000) : null,
    ...(reason === undefined ? {} : { reason }),
    ...(hasProblem ? { problem: reportOfProblem(problem) } : {}),
    ...(run.submittedBy === undefined ? {} : { submittedBy: run.submittedBy }),
    ...(retryOf === undefined ? {} : { retryOf }),
    ...(undoOf === undefined ? {} : { undoOf }),
  };
}

function instant(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

/** Exit code of a command that showed a run to its end. */
export function exitCodeOf(report: Pick<RunReport, "counts">): 0 | 1 {
  const { counts } = report;
  return counts.rejected + counts.failed + counts.cancelled + counts.pending > 0 ? 1 : 0;
}
