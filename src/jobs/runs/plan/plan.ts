/**
 * The report of a plan: what a run of the drafted rows would do, with warnings and the time that its calls take. It uses
 * only what simfleet has stored, and makes no call.
 */
import type { Filter } from "#fleet/filter.ts";
import { minuteMs } from "#core/time.ts";
import type { RunOptions } from "#fleet/run.ts";
import type { Limiter } from "#limiter/limiter.ts";
import type { Changed, PlanReport } from "../contract.ts";
import type { RunHead } from "../ledger/run-record.ts";
import { maxDangerous } from "../submit.ts";
import type { KnownFleet } from "./classify.ts";
import type { Draft } from "./draft.ts";
import type { SomeRows } from "./tally.ts";

interface ReportDeps {
  readonly supersedes: PlanReport["supersedes"];
  readonly fleet: KnownFleet;
  readonly limiter: Limiter;
  readonly periodMs: number;
}

export async function reportOfDraft(draft: Draft, deps: ReportDeps): Promise<PlanReport> {
  const { head, origin, tally, calls, irreversible, problems } = draft;
  const { operations, options, bucket, sha256, total: rows } = head;
  const operation = maxDangerous(operations);
  const quota = await quotaView(deps.limiter, bucket, deps.periodMs);
  const estimateMs = minTimeMs(calls, quota, options.callsPerMinute);
  const { verdicts, costly, unchangedSkipped } = tally;
  const { supersedes } = deps;
  return {
    ...origin,
    sha256,
    ...changedBy(head),
    rows,
    verdicts,
    unchangedSkipped,
    calls,
    costly,
    irreversible,
    hasUndo: operation.undo !== undefined,
    estimateSeconds: estimateMs === undefined ? null : Math.ceil(estimateMs / 1_000),
    othersPerMinute: Math.round(quota.othersPerMinute),
    problems,
    problemsInAll: verdicts.invalid + verdicts.conflict + verdicts["not-allowed"],
    supersedes,
    warnings: [...supersedes.map(supersedesText), ...(await warningsOf(draft, deps))],
  };
}

/** What a run or a draft of one changes. */
export function changedBy(
  head: Pick<RunHead, "profile" | "operator" | "operations" | "changes" | "segments">,
): Changed {
  const { profile, operator, operations, changes = [], segments } = head;
  return {
    profile,
    ...(operator === undefined ? {} : { operator }),
    operation: maxDangerous(operations).name,
    changes,
    changesInAll: segments.reduce((sum, { callable }) => sum + callable, 0),
  };
}

function supersedesText({ runId, sims }: PlanReport["supersedes"][number]): string {
  return sims === 1
    ? `1 SIM has a pending change in run ${runId}; it will be superseded`
    : `${sims} SIMs have pending changes in run ${runId}; they will be superseded`;
}

async function warningsOf(draft: Draft, deps: ReportDeps): Promise<string[]> {
  const { head, tally, lineOf } = draft;
  if (head.undoOf !== undefined && draft.calls === 0) {
    const reasons = tally.left.slice(0, 3).map(([reason, left]) => {
      return `${left === 1 ? "1 row" : `${left} rows`}: ${reason.replace("left unchanged: ", "")}`;
    });
    return [`nothing to restore (${reasons.join("; ")})`];
  }
  // The rows of another run have been warned of.
  if (head.retryOf !== undefined || head.undoOf !== undefined) return [];
  const { inventory, profile } = deps.fleet;
  const { known, gone, isComplete } = await inventory.facts(profile);
  const textOf = (some: SomeRows): string => rowsText(some, lineOf);
  const warnings = await classWarnings(tally.classes, deps, { isComplete, textOf });
  // Before the first sync no SIM is known.
  if (isComplete && tally.unknown.rows > 0) warnings.push(`not in the inventory: ${textOf(tally.unknown)}`);
  if (known + gone > 0) return warnings;
  const sync = "run simfleet sims sync";
  const [{ requires }] = head.operations;
  if (head.options.skipUnchanged === true) {
    warnings.push(`the inventory is empty, so no row is known to be unchanged: ${sync}`);
  }
  if (requires !== undefined) {
    warnings.push(`the inventory is empty, so it is not known which SIMs match ${requires}: ${sync}`);
  }
  return warnings;
}

/**
 * `3 rows (lines 4, 9, 12)`
 * @param lineOf undefined where rows have no lines
 */
function rowsText({ rows, indexes }: SomeRows, lineOf: Draft["lineOf"]): string {
  const count = `${rows} ${rows === 1 ? "row" : "rows"}`;
  if (lineOf === undefined) return count;
  const lines = indexes.map(lineOf).join(", ");
  return `${count} (${rows === 1 ? "line" : "lines"} ${lines}${rows > indexes.length ? ", …" : ""})`;
}

/** Warns of speed classes that no SIM has, where the deployment lists none: most likely typing mistakes. */
async function classWarnings(
  classes: Draft["tally"]["classes"],
  { fleet }: ReportDeps,
  { isComplete, textOf }: { readonly isComplete: boolean; readonly textOf: (some: SomeRows) => string },
): Promise<string[]> {
  const warnings: string[] = [];
  for (const [speedClass, rows] of classes) {
    if (fleet.speedClasses.length === 0 && isComplete && !(await someSimHas(speedClass, fleet))) {
      warnings.push(`no SIM has the speed class ${speedClass}: ${textOf(rows)}; check its spelling`);
    }
  }
  return warnings;
}

async function someSimHas(speedClass: string, { inventory, profile }: KnownFleet): Promise<boolean> {
  const filter: Filter = {
    text: `speedClass=${speedClass}`,
    conditions: [{ kind: "equals", field: "speedClass", value: speedClass }],
  };
  for await (const found of inventory.scan(profile, filter, { keyColumn: "simId" })) if (found.length > 0) return true;
  return false;
}

/** Reads the current state of a bucket from the limiter. */
export async function quotaView(limiter: Limiter, bucket: string, periodMs: number): Promise<QuotaView> {
  const state = await limiter.state(bucket);
  const refreshMs = state.refreshLatestMs ?? state.nowMs;
  return {
    limit: state.limit,
    left: state.left,
    reserved: Math.max(state.reserved ?? 0, state.needed),
    othersPerMinute: (state.needed * minuteMs) / periodMs,
    untilRefreshMs: Math.max(0, refreshMs - state.nowMs),
    periodMs,
  };
}

/** The run's failure limit, in rows. */
export function failureLimit(options: RunOptions, calls: number): number | undefined {
  const limit = options.maxFailures;
  if (limit === undefined) return undefined;
  return "rows" in limit ? limit.rows : Math.floor((calls * limit.percent) / 100);
}

// Estimates how long calls take at a quota, from the current state of its bucket.

/** The state of a bucket, as far as an estimate needs it. */
export interface QuotaView {
  /** Calls per period; undefined until the first response reports it. */
  readonly limit: number | undefined;
  /** Calls left in the current period. */
  readonly left: number | undefined;
  /** Calls of each period that are left to other callers. */
  readonly reserved: number;
  /** Calls of other callers in the busiest of the last windows. */
  readonly othersPerMinute: number;
  /** Time to the next refresh. */
  readonly untilRefreshMs: number;
  readonly periodMs: number;
}

export const unknownQuota: QuotaView = {
  limit: undefined,
  left: undefined,
  reserved: 0,
  othersPerMinute: 0,
  untilRefreshMs: 0,
  periodMs: 0,
};

/**
 * Minimum time to send `calls` calls, in milliseconds; undefined while the quota is unknown.
 * @param callsPerMinute the run's own rate limit, if it has one
 */
export function minTimeMs(calls: number, quota: QuotaView, callsPerMinute?: number): number | undefined {
  const atOwnRateMs = callsPerMinute === undefined ? 0 : (calls / callsPerMinute) * 60_000;
  if (quota.limit === undefined) return callsPerMinute === undefined ? undefined : atOwnRateMs;
  const perWindow = Math.max(1, quota.limit - quota.reserved);
  const leftToOthers = quota.reserved * Math.min(1, quota.untilRefreshMs / quota.periodMs);
  const now = Math.max(0, (quota.left ?? quota.limit) - leftToOthers);
  if (calls <= now) return atOwnRateMs;
  const windows = Math.ceil((calls - now) / perWindow);
  return Math.max(atOwnRateMs, quota.untilRefreshMs + (windows - 1) * quota.periodMs);
}
