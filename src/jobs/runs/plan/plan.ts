/**
 * The report of a plan: what a run of the drafted rows would do, with warnings and the time that its calls take. It uses
 * only what simfleet has stored, and makes no call.
 */
import type { Filter } from "#fleet/filter.ts";
import type { RunOptions } from "#fleet/run.ts";
import type { Changed, PlanReport } from "../contract.ts";
import type { RunHead, RunRecord } from "../ledger/run-record.ts";
import { maxDangerous } from "../submit.ts";
import type { KnownFleet } from "./classify.ts";
import type { Draft } from "./draft.ts";
import { type Forecast, aheadOf } from "./forecast.ts";
import type { SomeRows } from "./tally.ts";

interface ReportDeps {
  readonly supersedes: PlanReport["supersedes"];
  readonly fleet: KnownFleet;
  /** Forecast of its calls. Undefined while the quota is unknown. */
  readonly forecast: Forecast | undefined;
  readonly othersPerMinute: number;
}

export async function reportOfDraft(draft: Draft, deps: ReportDeps): Promise<PlanReport> {
  const { head, origin, tally, calls, irreversible, problems } = draft;
  const { operations, sha256, total: rows } = head;
  const operation = maxDangerous(operations);
  const { verdicts, costly, unchangedSkipped } = tally;
  const { supersedes, forecast, othersPerMinute } = deps;
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
    estimateSeconds: forecast === undefined ? null : Math.ceil(forecast.endMs / 1_000),
    ...aheadOf(forecast),
    othersPerMinute: Math.round(othersPerMinute),
    ...reportOfWaves(head),
    problems,
    problemsInAll: verdicts.invalid + verdicts.conflict + verdicts["not-allowed"],
    supersedes,
    warnings: [...supersedes.map(supersedesText), ...(await warningsOf(draft, deps))],
  };
}

/** Changes of a run or a draft. */
export function changedBy(
  head: Pick<RunHead, "profile" | "operator" | "operations" | "changes" | "segments">,
): Changed {
  const { profile, operator, operations, changes = [], segments } = head;
  return {
    profile,
    operator,
    operation: maxDangerous(operations).name,
    changes,
    changesInAll: segments.reduce((sum, { callable }) => sum + callable, 0),
  };
}

/** The waves of a run, or of a draft of one. */
export function reportOfWaves(
  { options, waves }: Pick<RunHead, "options" | "waves">,
  checks: RunRecord["checks"] = [],
): Pick<PlanReport, "waves"> {
  if (options.waves === undefined) return {};
  const { soakMs, gate, onFailure } = options.waves;
  const reads = waves.reduce((sum, { judged }) => sum + judged, 0);
  const parts = waves.map(({ calls: sims, met, judged }, i) => ({ sims, met, judged, check: checks[i] ?? null }));
  return { waves: { soakSeconds: soakMs / 1_000, gate, onFailure, reads, parts } };
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
  const warnings: string[] = [];
  // Where the deployment lists no speed classes, one that no SIM has is most likely a typing mistake.
  for (const [speedClass, rows] of isComplete && deps.fleet.speedClasses.length === 0 ? tally.classes : []) {
    if (await someSimHas(speedClass, deps.fleet)) continue;
    warnings.push(`no SIM has the speed class ${speedClass}: ${textOf(rows)}; check its spelling`);
  }
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

async function someSimHas(speedClass: string, { inventory, profile }: KnownFleet): Promise<boolean> {
  const filter: Filter = {
    text: `speedClass=${speedClass}`,
    expression: { kind: "equals", field: "speedClass", value: speedClass },
  };
  for await (const found of inventory.scan(profile, filter, { keyColumn: "simId" })) if (found.length > 0) return true;
  return false;
}

/** The run's failure limit, in rows. */
export function failureLimit(options: RunOptions, calls: number): number | undefined {
  const limit = options.maxFailures;
  if (limit === undefined) return undefined;
  return "rows" in limit ? limit.rows : Math.floor((calls * limit.percent) / 100);
}
