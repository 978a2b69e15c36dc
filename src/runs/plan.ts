/**
 * What a run would do before it does it: every row judged, calls counted, time estimated. A plan reads the file and what
 * simfleet knows already; it makes no call.
 */
import type { RunOptions } from "#fleet/run.ts";
import type { Wording } from "#fleet/sim.ts";
import { type FileSurvey, readRows, surveyFile } from "#intake/read-rows.ts";
import type { Limiter } from "#limiter/limiter.ts";
import { type QuotaView, leastTimeMs } from "./quota-estimate.ts";

export interface PlanRequest {
  readonly path: string;
  readonly wording: Wording;
  readonly bucket: string;
  /** One class for all rows of a file of ids only. */
  readonly speedClass?: string | undefined;
  /** Speed classes that the deployment knows; others are warned of. Empty: none is known. */
  readonly knownSpeedClasses: readonly string[];
  readonly callsPerMinute?: number | undefined;
  readonly periodMs: number;
}

export interface Plan {
  readonly survey: FileSurvey;
  /** Rows by verdict; they add up to the rows of the file. */
  readonly verdicts: {
    /** Makes a call. */
    readonly change: number;
    /** Shares the call of an earlier row with the same SIM and class. */
    readonly duplicate: number;
    /** The same SIM with another class elsewhere in the file. */
    readonly conflict: number;
    readonly invalid: number;
  };
  readonly calls: number;
  /** Least time at the present quota, undefined while that is unknown. */
  readonly estimateMs: number | undefined;
  readonly warnings: readonly string[];
}

/** @throws IntakeError for a file that cannot be taken in */
export async function makePlan(request: PlanRequest, limiter: Limiter): Promise<Plan> {
  const survey = await surveyFile(request.path, { wording: request.wording, speedClass: request.speedClass });
  const { counts } = survey;
  const conflict = counts.byProblem.conflict ?? 0;
  const quota = await quotaView(limiter, request.bucket, request.periodMs);
  return {
    survey,
    verdicts: {
      change: counts.calls,
      duplicate: counts.duplicates,
      conflict,
      invalid: counts.invalid - conflict,
    },
    calls: counts.calls,
    estimateMs: leastTimeMs(counts.calls, quota, request.callsPerMinute),
    warnings: await classWarnings(survey, request),
  };
}

/** What the limiter knows of a bucket. */
export async function quotaView(limiter: Limiter, bucket: string, periodMs: number): Promise<QuotaView> {
  const state = await limiter.state(bucket);
  const refreshMs = state.refreshLatestMs ?? state.nowMs;
  return {
    limit: state.limit,
    left: state.left,
    reserved: state.reserved ?? 0,
    untilRefreshMs: Math.max(0, refreshMs - state.nowMs),
    periodMs,
  };
}

async function classWarnings(survey: FileSurvey, request: PlanRequest): Promise<string[]> {
  const known = new Set(request.knownSpeedClasses);
  if (known.size === 0) return [];
  const unknown = new Map<string, number>();
  for await (const batch of readRows(survey)) {
    for (const { row } of batch) {
      if (row.problem !== undefined || known.has(row.speedClass)) continue;
      unknown.set(row.speedClass, (unknown.get(row.speedClass) ?? 0) + 1);
    }
  }
  return [...unknown].map(
    ([speedClass, rows]) =>
      `${speedClass} (${rows} ${rows === 1 ? "row" : "rows"}) is no speed class that this deployment lists: ${[...known].join(", ")}`,
  );
}

/** Which part of the options a run's failure limit comes to, in rows. */
export function failureLimit(options: RunOptions, calls: number): number | undefined {
  const limit = options.maxFailures;
  if (limit === undefined) return undefined;
  return "rows" in limit ? limit.rows : Math.floor((calls * limit.percent) / 100);
}
