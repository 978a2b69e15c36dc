/**
 * Previews a run: classifies every row, counts the calls and estimates the time. A plan uses only the file and what
 * simfleet has stored; it makes no call.
 */
import type { RunOptions } from "#fleet/run.ts";
import type { Filter } from "#fleet/filter.ts";
import type { InputFile } from "#core/open-file.ts";
import { setSpeedClassName } from "#fleet/sim-operation/sim-operation.ts";
import type { RowRequest } from "#intake/columns.ts";
import { type RowFault, surveyFile } from "#intake/read-rows.ts";
import type { Limiter } from "#limiter/limiter.ts";
import { type KnownFleet, type RowVerdict, classifyRows } from "./classify.ts";
import { type RowSource, fileSource, filterSource, simsSource } from "./row-source.ts";
import { type QuotaView, leastTimeMs } from "./quota-estimate.ts";

export interface PlanRequest extends RowRequest {
  /** A file, a filter on the inventory, or SIMs by their keys. */
  readonly from: InputFile | { readonly filter: Filter } | { readonly sims: readonly string[] };
  readonly bucket: string;
  /** The inventory, with the last known state of the SIMs. */
  readonly fleet: KnownFleet;
  /** Make no call for a row whose SIM is already as requested according to the inventory. */
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
  /** Number of rows that no call is made for: invalid ones, conflicts, and SIMs that the operation does not allow. */
  readonly rejected: number;
  /** The first of them, in row order. */
  readonly problems: readonly RowFault[];
  readonly calls: number;
  /** Calls that cost money, as far as the inventory knows. */
  readonly costly: number;
  /** Minimum time at the current quota; undefined while the quota is unknown. */
  readonly estimateMs: number | undefined;
  readonly warnings: readonly string[];
}

/** Problems of single rows that a plan lists. */
const problemLimit = 1_000;
/** Speed classes that a plan warns of; a file with more has another column under this name. */
const mostUnlisted = 20;

/**
 * @throws IntakeError for a file that cannot be read as input
 * @throws SimfleetError USAGE for a filter without a required value, or one that matches no SIM
 */
export async function makePlan(request: PlanRequest, limiter: Limiter): Promise<Plan> {
  const { operation, fleet, skipUnchanged } = request;
  const source = await openSource(request);
  const { verdicts, costly, unlisted, problems } = await classifyAll(source, request);
  const warnings = unlistedWarnings(unlisted, request.knownSpeedClasses);
  const { known, gone } = await fleet.inventory.facts(fleet.profile);
  if (known + gone === 0) {
    const sync = "simfleet sims sync reads the fleet";
    if (skipUnchanged) warnings.push(`the inventory is empty, so no row is known to be unchanged: ${sync}`);
    if (operation.requires !== undefined) {
      warnings.push(`the inventory is empty, so it is not known which SIMs match ${operation.requires}: ${sync}`);
    }
  }
  const calls = verdicts.change + verdicts.unknown + (skipUnchanged ? 0 : verdicts.unchanged);
  const rejected = verdicts.invalid + verdicts.conflict + verdicts["not-allowed"];
  const quota = await quotaView(limiter, request.bucket, request.periodMs);
  const estimateMs = leastTimeMs(calls, quota, request.callsPerMinute);
  return { source, verdicts, rejected, problems, calls, costly, estimateMs, warnings };
}

async function openSource({ from, fleet, operation, set }: PlanRequest): Promise<RowSource> {
  const request = { operation, set };
  if ("path" in from) return fileSource(await surveyFile(from, { ...request, problemLimit }));
  if ("sims" in from) return simsSource(from.sims, request);
  return filterSource(fleet.inventory, { profile: fleet.profile, filter: from.filter, request });
}

/** Counts rows by verdict, costly calls, and rows by speed classes that the deployment does not list. */
async function classifyAll(source: RowSource, request: PlanRequest) {
  const verdicts: Record<RowVerdict, number> = {
    change: 0,
    unchanged: 0,
    unknown: 0,
    duplicate: 0,
    conflict: 0,
    "not-allowed": 0,
    invalid: 0,
  };
  const listed = new Set(request.operation.name === setSpeedClassName ? request.knownSpeedClasses : []);
  const unlisted = new Map<string, number>();
  const problems: RowFault[] = [];
  let costly = 0;
  for await (const batch of classifyRows(source, request.fleet)) {
    for (const { row, verdict, isCostly } of batch) {
      verdicts[verdict] += 1;
      const { index, line, problem, inputs } = row;
      if (problem !== undefined) {
        if (problems.length < problemLimit) problems.push({ index, line, ...problem });
        continue;
      }
      if (
        isCostly &&
        (verdict === "change" || verdict === "unknown" || (verdict === "unchanged" && !request.skipUnchanged))
      ) {
        costly += 1;
      }
      const [speedClass = ""] = inputs;
      if (listed.size === 0 || listed.has(speedClass)) continue;
      if (unlisted.size >= mostUnlisted && !unlisted.has(speedClass)) continue;
      unlisted.set(speedClass, (unlisted.get(speedClass) ?? 0) + 1);
    }
  }
  return { verdicts, costly, unlisted, problems };
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
