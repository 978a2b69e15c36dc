/**
 * Previews a run: classifies every row, counts the calls and estimates the time. A plan uses only the file and what
 * simfleet has stored; it makes no call.
 */
import type { RunOptions } from "#fleet/run.ts";
import type { Filter } from "#fleet/filter.ts";
import type { InputFile } from "#core/files/open-file.ts";
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
  /** Aborts when nobody waits for the plan any more. */
  readonly signal?: AbortSignal | undefined;
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
/** Speed classes that a plan looks at; a file with more has another column under this name. */
const maxUnlisted = 20;

/**
 * @throws IntakeError for a file that cannot be read as input
 * @throws SimfleetError USAGE for a filter without a required value, or one that matches no SIM; the signal's reason
 */
export async function makePlan(request: PlanRequest, limiter: Limiter): Promise<Plan> {
  const { operation, fleet, skipUnchanged } = request;
  const source = await openSource(request);
  const { verdicts, costly, classes, unknown, problems } = await classifyAll(source, request);
  const { known, gone, isComplete } = await fleet.inventory.facts(fleet.profile);
  const warnings = await classWarnings(classes, request, { isComplete });
  // Before the first sync no SIM is known.
  if (isComplete && unknown.rows > 0) warnings.push(`not in the inventory: ${rowsText(unknown)}`);
  if (known + gone === 0) {
    const sync = "run simfleet sims sync";
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

async function openSource({ from, fleet, operation, set, fromResults, signal }: PlanRequest): Promise<RowSource> {
  const request = { operation, set, fromResults };
  if ("path" in from) return fileSource(await surveyFile(from, { ...request, problemLimit, signal }));
  if ("sims" in from) return simsSource(from.sims, request);
  return filterSource(fleet.inventory, { profile: fleet.profile, filter: from.filter, request });
}

/** Rows that have something in common. */
interface SomeRows {
  rows: number;
  /** The first of them; none where the rows come from a filter. */
  readonly lines: number[];
}

const linesNamed = 5;

function add(some: SomeRows, line: number | undefined): void {
  some.rows += 1;
  if (line !== undefined && some.lines.length < linesNamed) some.lines.push(line);
}

/** `3 rows (lines 4, 9, 12)` */
function rowsText({ rows, lines }: SomeRows): string {
  const count = `${rows} ${rows === 1 ? "row" : "rows"}`;
  if (lines.length === 0) return count;
  return `${count} (${rows === 1 ? "line" : "lines"} ${lines.join(", ")}${rows > lines.length ? ", …" : ""})`;
}

/** Counts rows by verdict, costly calls, rows by speed class, and rows whose SIM is not in the inventory. */
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
  const hasClasses = request.operation.name === setSpeedClassName;
  const listed = new Set(request.knownSpeedClasses);
  const classes = new Map<string, SomeRows>();
  const unknown: SomeRows = { rows: 0, lines: [] };
  const problems: RowFault[] = [];
  let costly = 0;
  for await (const batch of classifyRows(source, request.fleet)) {
    request.signal?.throwIfAborted();
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
      const lineOf = "path" in request.from ? line : undefined;
      if (verdict === "unknown") add(unknown, lineOf);
      const [speedClass = ""] = inputs;
      if (!hasClasses || listed.has(speedClass)) continue;
      if (classes.size >= maxUnlisted && !classes.has(speedClass)) continue;
      const some = classes.get(speedClass) ?? { rows: 0, lines: [] };
      classes.set(speedClass, some);
      add(some, lineOf);
    }
  }
  return { verdicts, costly, classes, unknown, problems };
}

/**
 * Warns of speed classes that the deployment does not list. If it lists none, of those that no SIM has: most likely typing
 * mistakes, which the platform would reject.
 */
async function classWarnings(
  classes: ReadonlyMap<string, SomeRows>,
  { knownSpeedClasses: listed, fleet }: PlanRequest,
  { isComplete }: { readonly isComplete: boolean },
): Promise<string[]> {
  const warnings: string[] = [];
  for (const [speedClass, rows] of classes) {
    if (listed.length > 0) {
      warnings.push(
        `the deployment lists no speed class ${speedClass}: ${rowsText(rows)}; it lists ${listed.join(", ")}`,
      );
    } else if (isComplete && !(await someSimHas(speedClass, fleet))) {
      warnings.push(`no SIM has the speed class ${speedClass}: ${rowsText(rows)}; check its spelling`);
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
