/**
 * Previews a run: classifies every row, counts the calls and estimates the time. A plan uses only the file and what
 * simfleet has stored; it makes no call.
 */
import type { RunOptions } from "#fleet/run.ts";
import type { Wording } from "#fleet/sim/sim.ts";
import type { Filter } from "#fleet/filter.ts";
import { SimfleetError } from "#core/errors.ts";
import type { FileRules } from "#core/open-file.ts";
import { surveyFile } from "#intake/read-rows.ts";
import type { Limiter } from "#limiter/limiter.ts";
import { type KnownFleet, type RowVerdict, classifyRows } from "./classify.ts";
import { type RowSource, fileSource, filterSource, simsSource } from "./row-source.ts";
import { type QuotaView, leastTimeMs } from "./quota-estimate.ts";

export interface PlanRequest {
  /** A file, a filter on the inventory, or SIMs by their keys. */
  readonly from:
    | { readonly path: string; readonly rules?: FileRules }
    | { readonly filter: Filter }
    | { readonly sims: readonly string[] };
  readonly wording: Wording;
  readonly bucket: string;
  /** The inventory, with the last known state of the SIMs. */
  readonly fleet: KnownFleet;
  /** One class for all rows, for a file with ids only; required with a filter. */
  readonly speedClass?: string | undefined;
  /** Make no call for a row whose SIM already has the requested class according to the inventory. */
  readonly skipUnchanged?: boolean;
  /** Speed classes that the deployment lists; others cause a warning. Empty: no list is configured. */
  readonly knownSpeedClasses: readonly string[];
  readonly callsPerMinute?: number | undefined;
  readonly periodMs: number;
}

export interface Plan {
  readonly source: RowSource;
  /** Number of rows by verdict; their sum is the number of all rows. */
  readonly verdicts: Readonly<Record<RowVerdict, number>>;
  readonly calls: number;
  /** Minimum time at the current quota; undefined while the quota is unknown. */
  readonly estimateMs: number | undefined;
  readonly warnings: readonly string[];
}

/**
 * @throws IntakeError for a file that cannot be read as input
 * @throws SimfleetError USAGE for a filter without a class, or one that matches no SIM
 */
export async function makePlan(request: PlanRequest, limiter: Limiter): Promise<Plan> {
  const source = await openSource(request);
  const { verdicts, unlisted } = await classifyAll(source, request);
  const warnings = unlistedWarnings(unlisted, request.knownSpeedClasses);
  const { known, gone } = await request.fleet.inventory.facts(request.fleet.profile);
  if (request.skipUnchanged && known + gone === 0) {
    warnings.push("the inventory is empty, so no row is known to be unchanged: simfleet sims sync reads the fleet");
  }
  const calls = verdicts.change + verdicts.unknown + (request.skipUnchanged ? 0 : verdicts.unchanged);
  const quota = await quotaView(limiter, request.bucket, request.periodMs);
  return { source, verdicts, calls, estimateMs: leastTimeMs(calls, quota, request.callsPerMinute), warnings };
}

async function openSource({ from, fleet, speedClass, wording }: PlanRequest): Promise<RowSource> {
  if ("path" in from) return fileSource(await surveyFile(from.path, { wording, speedClass, rules: from.rules }));
  if (speedClass === undefined) {
    throw new SimfleetError("USAGE", "SIMs that are chosen by a filter need a class to be given: add --speed-class");
  }
  if ("sims" in from) return simsSource(from.sims, { speedClass, wording });
  const { inventory, profile } = fleet;
  return filterSource(inventory, { profile, filter: from.filter, speedClass, wording });
}

/** Counts rows by verdict, and rows by speed classes that the deployment does not list. */
async function classifyAll(
  source: RowSource,
  request: PlanRequest,
): Promise<{ verdicts: Record<RowVerdict, number>; unlisted: Map<string, number> }> {
  const verdicts = { change: 0, unchanged: 0, unknown: 0, duplicate: 0, conflict: 0, invalid: 0 };
  const listed = new Set(request.knownSpeedClasses);
  const unlisted = new Map<string, number>();
  for await (const batch of classifyRows(source, request.fleet)) {
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

/** Reads the current state of a bucket from the limiter. */
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

/** The run's failure limit, in rows. */
export function failureLimit(options: RunOptions, calls: number): number | undefined {
  const limit = options.maxFailures;
  if (limit === undefined) return undefined;
  return "rows" in limit ? limit.rows : Math.floor((calls * limit.percent) / 100);
}
