/** Builds a new run from the unsuccessful rows of a run that has ended. */
import { SimfleetError } from "#core/errors.ts";
import type { Outcome } from "#fleet/run.ts";
import { isRepeatable } from "#fleet/sim-operation/sim-operation.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { assertNotTaken } from "./ledger/follow-up.ts";
import type { StoredRow } from "./ledger/packing.ts";
import type { RunRecord } from "./ledger/run-record.ts";
import { assertEnded } from "./ended-run.ts";
import { rowResults } from "./results/results.ts";
import { type RowCounts, countRows } from "./plan/row-counts.ts";
import { inBatches } from "./plan/row-source.ts";
import type { Submission } from "./submit.ts";

/** Outcomes that are retried by default. A rejected row is not among them: it would be rejected again. */
const retriedByDefault: readonly Outcome[] = ["failed", "cancelled"];

/** Which rows to retry. */
export interface RetriedRows {
  readonly outcomes?: readonly Outcome[] | undefined;
  /** Only the rows of these lines; all of them if absent. */
  readonly lines?: readonly number[] | undefined;
}

/**
 * @param newRunId the id of the retry, if it was fixed in advance
 * @throws SimfleetError RUN_STATE_CONFLICT if the run has not ended, no row has such an outcome, or another run has taken rows whose
 *   calls must not be repeated
 */
export async function retrySubmission(
  run: RunRecord,
  { ledger, inventory }: { readonly ledger: Ledger; readonly inventory: Inventory },
  { outcomes = retriedByDefault, lines, newRunId }: RetriedRows & { readonly newRunId?: string | undefined },
): Promise<Submission & RowCounts> {
  assertEnded(run, "retried");
  if (lines !== undefined && !isRepeatable(run.operations)) {
    const message = `The calls of run ${run.runId} must not be repeated, so its rows are retried all at once: leave out the lines`;
    throw new SimfleetError("RUN_STATE_CONFLICT", message);
  }
  const which = { outcomes, lines: lines === undefined ? undefined : new Set(lines) };
  const found = new Set<Outcome>();
  const rows = inBatches(rowsOf(unsuccessful(run, ledger, which), found));
  const counts = await countRows(rows, { ...run, inventory });
  if (counts.calls === 0) {
    throw new SimfleetError(
      "RUN_STATE_CONFLICT",
      `Run ${run.runId} has no row that is ${outcomes.join(" or ")}: nothing to retry${otherOutcomes(run, outcomes)}`,
    );
  }
  const takes = isRepeatable(run.operations) ? [] : [...found];
  assertNotTaken(run, takes, newRunId);
  return {
    ...counts,
    takes,
    name: `${run.name} (retry)`,
    profile: run.profile,
    bucket: run.bucket,
    options: run.options,
    operations: run.operations,
    header: run.header,
    source: run.source,
    sha256: run.sha256,
    retryOf: run.runId,
    rows: inBatches(rowsOf(unsuccessful(run, ledger, which))),
  };
}

/** The outcomes that were not asked for and that some rows have: `; 15 rejected are retried only …` */
function otherOutcomes({ tally }: RunRecord, asked: readonly Outcome[]): string {
  const others = (["rejected", "failed", "unknown", "cancelled"] as const).filter(
    (outcome) => !asked.includes(outcome) && tally[outcome] > 0,
  );
  if (others.length === 0) return "";
  const counts = others.map((outcome) => `${tally[outcome]} ${outcome}`).join(", ");
  return `. Other rows (${counts}) are retried only if the request names their outcome`;
}

/** @param found takes the outcomes of the rows */
async function* rowsOf(results: AsyncIterable<Unsuccessful>, found?: Set<Outcome>): AsyncGenerator<StoredRow> {
  for await (const { row, outcome } of results) {
    found?.add(outcome);
    yield row;
  }
}

interface Unsuccessful {
  readonly row: StoredRow;
  readonly outcome: Outcome;
}

/** The rows with these outcomes and lines, numbered from 0. */
async function* unsuccessful(
  run: RunRecord,
  ledger: Ledger,
  { outcomes, lines }: { readonly outcomes: readonly Outcome[]; readonly lines: ReadonlySet<number> | undefined },
): AsyncGenerator<Unsuccessful> {
  const newIndexes = new Map<number, number>();
  let index = 0;
  for await (const { row, outcome } of rowResults(run, ledger)) {
    if (!outcomes.includes(outcome) || row.problem !== undefined || lines?.has(row.line) === false) continue;
    newIndexes.set(row.index, index);
    const { duplicateOf, ...own } = row;
    const first = duplicateOf === undefined ? undefined : newIndexes.get(duplicateOf);
    yield { row: { ...own, index, ...(first === undefined ? {} : { duplicateOf: first }) }, outcome };
    index += 1;
  }
}
