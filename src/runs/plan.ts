/**
 * What a run would do before it does it: every row judged, calls counted, time estimated. A plan reads the file and what
 * simfleet knows already; it makes no call.
 */
import type { RunOptions } from "#fleet/run.ts";
import type { Wording } from "#fleet/sim.ts";
import { type FileSurvey, surveyFile } from "#intake/read-rows.ts";
import type { Limiter } from "#limiter/limiter.ts";
import { type KnownFleet, type RowVerdict, judgeRows } from "./judge.ts";
import { type QuotaView, leastTimeMs } from "./quota-estimate.ts";

export interface PlanRequest {
  readonly path: string;
  readonly wording: Wording;
  readonly bucket: string;
  /** The SIMs as they were last seen. */
  readonly fleet: KnownFleet;
  /** One class for all rows of a file of ids only. */
  readonly speedClass?: string | undefined;
  /** Make no call for a row whose SIM the inventory shows with the wanted class. */
  readonly skipUnchanged?: boolean;
  /** Speed classes that the deployment knows; others are warned of. Empty: none is known. */
  readonly knownSpeedClasses: readonly string[];
  readonly callsPerMinute?: number | undefined;
  readonly periodMs: number;
}

export interface Plan {
  readonly survey: FileSurvey;
  /** Rows by verdict; they add up to the rows of the file. */
  readonly verdicts: Readonly<Record<RowVerdict, number>>;
  readonly calls: number;
  /** Least time at the present quota, undefined while that is unknown. */
  readonly estimateMs: number | undefined;
  readonly warnings: readonly string[];
}

/** @throws IntakeError for a file that cannot be taken in */
export async function makePlan(request: PlanRequest, limiter: Limiter): Promise<Plan> {
  const survey = await surveyFile(request.path, { wording: request.wording, speedClass: request.speedClass });
  const { verdicts, unlisted } = await judgeAll(survey, request);
  const warnings = unlistedWarnings(unlisted, request.knownSpeedClasses);
  if (request.skipUnchanged && (await request.fleet.inventory.size(request.fleet.profile)) === 0) {
    warnings.push("the inventory is empty, so no row is known to be unchanged: simfleet sims sync reads the fleet");
  }
  const calls = verdicts.change + verdicts.unknown + (request.skipUnchanged ? 0 : verdicts.unchanged);
  const quota = await quotaView(limiter, request.bucket, request.periodMs);
  return { survey, verdicts, calls, estimateMs: leastTimeMs(calls, quota, request.callsPerMinute), warnings };
}

/** Counts verdicts, and rows by speed classes that the deployment does not list. */
async function judgeAll(
  survey: FileSurvey,
  request: PlanRequest,
): Promise<{ verdicts: Record<RowVerdict, number>; unlisted: Map<string, number> }> {
  const verdicts = { change: 0, unchanged: 0, unknown: 0, duplicate: 0, conflict: 0, invalid: 0 };
  const listed = new Set(request.knownSpeedClasses);
  const unlisted = new Map<string, number>();
  for await (const batch of judgeRows(survey, request.fleet)) {
    for (const { row, verdict } of batch) {
      verdicts[verdict] += 1;
      if (listed.size === 0 || row.problem !== undefined || listed.has(row.speedClass)) continue;
      unlisted.set(row.speedClass, (unlisted.get(row.speedClass) ?? 0) + 1);
    }
  }
  return { verdicts, unlisted };
}

function unlistedWarnings(unlisted: ReadonlyMap<string, number>, listed: readonly string[]): string[] {
  return [...unlisted].map(
    ([speedClass, rows]) =>
      `${speedClass} (${rows} ${rows === 1 ? "row" : "rows"}) is no speed class that this deployment lists: ${listed.join(", ")}`,
  );
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

/** Which part of the options a run's failure limit comes to, in rows. */
export function failureLimit(options: RunOptions, calls: number): number | undefined {
  const limit = options.maxFailures;
  if (limit === undefined) return undefined;
  return "rows" in limit ? limit.rows : Math.floor((calls * limit.percent) / 100);
}
