/** The unsuccessful rows of a run that has ended, as the rows of a new run. */
import { SimfleetError } from "#core/errors.ts";
import type { Outcome } from "#fleet/run.ts";
import { isRepeatable } from "#fleet/sim-operation/sim-operation.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { type RunRecord, assertNotTaken } from "./ledger/run-record.ts";
import type { StoredRow } from "./ledger/packing.ts";
import { assertEnded } from "./results/sent-rows.ts";
import { type RowResult, rowResults } from "./results/results.ts";
import { reasonMatcher } from "./results/run-summary.ts";
import { withCosts } from "./plan/classify.ts";
import type { DraftSource } from "./plan/draft.ts";
import { inBatches } from "./plan/row-source.ts";

/** Outcomes that are retried by default. A rejected row is not among them: it would be rejected again. */
const retriedByDefault: readonly Outcome[] = ["failed", "cancelled"];
/** Who names a reason has done something about it. */
const retriedByReason: readonly Outcome[] = [...retriedByDefault, "rejected"];

/** Selection of rows to retry. */
export interface RetriedRows {
  readonly outcomes?: readonly Outcome[] | undefined;
  /** Only the rows of these lines; all of them if absent. */
  readonly lines?: readonly number[] | undefined;
  /** Only the rows with this reason; `…` stands for any text. */
  readonly reason?: string | undefined;
}

/**
 * The rows of a retry.
 * @param newRunId the id of the retry, if it was fixed in advance
 * @throws SimfleetError RUN_STATE_CONFLICT if the run has not ended; its rows throw if none has such an outcome, or another run
 *   has taken rows whose calls are unsafe to repeat
 */
export function retrySource(
  run: RunRecord,
  { ledger, inventory }: { readonly ledger: Ledger; readonly inventory: Inventory },
  which: RetriedRows & { readonly newRunId?: string | undefined },
): DraftSource {
  assertEnded(run, "retried");
  const { lines, reason, newRunId, outcomes = reason === undefined ? retriedByDefault : retriedByReason } = which;
  const isSafe = isRepeatable(run.operations);
  if ((lines ?? reason) !== undefined && !isSafe) {
    const message = `The calls of run ${run.runId} are unsafe to repeat, so its rows are retried all at once: leave out the lines and the reason`;
    throw new SimfleetError("RUN_STATE_CONFLICT", message);
  }
  const places = lines === undefined ? undefined : new Set(lines);
  const matches = reason === undefined ? undefined : reasonMatcher(reason);
  const isWanted = (result: RowResult): boolean =>
    outcomes.includes(result.outcome) && places?.has(result.row.line) !== false && matches?.(result.reason) !== false;
  const found = new Set<Outcome>();
  const rows = inBatches(wantedRows(run, ledger, isWanted, found));
  return {
    operations: run.operations,
    header: run.header,
    origin: { where: `rows of run ${run.runId} that are ${outcomes.join(" or ")}` },
    sha256: () => run.sha256,
    isSealed: true,
    rows: withCosts(rows, { operations: run.operations, profile: run.profile, inventory }),
    takes: ({ calls }) => {
      if (calls === 0) {
        throw new SimfleetError(
          "RUN_STATE_CONFLICT",
          `Run ${run.runId} has no row that is ${outcomes.join(" or ")}${reason === undefined ? "" : " for this reason"}: nothing to retry${otherOutcomes(run, outcomes)}`,
        );
      }
      const takes = isSafe ? [] : [...found];
      assertNotTaken(run, takes, newRunId);
      return takes;
    },
  };
}

/** The outcomes that were not asked for and that some rows have: `; 15 rejected are retried only …` */
function otherOutcomes({ tally }: RunRecord, asked: readonly Outcome[]): string {
  const others = (["rejected", "failed", "unknown", "cancelled"] as const).filter(
    (outcome) => !asked.includes(outcome) && tally[outcome] > 0,
  );
  if (others.length === 0) return "";
  const counts = others.map((outcome) => `${tally[outcome]} ${outcome}`).join(", ");
  return `. Other rows (${counts}) are retried only if the request names their outcome, as --outcome ${others[0]}`;
}

/** The rows that are wanted, numbered from 0. @param found takes their outcomes */
async function* wantedRows(
  run: RunRecord,
  ledger: Ledger,
  isWanted: (result: RowResult) => boolean,
  found: Set<Outcome>,
): AsyncGenerator<StoredRow> {
  const newIndexes = new Map<number, number>();
  for await (const result of rowResults(run, ledger)) {
    const { duplicateOf, planned: _, ...row } = result.row;
    if (row.problem !== undefined || !isWanted(result)) continue;
    const index = newIndexes.size;
    newIndexes.set(row.index, index);
    found.add(result.outcome);
    const first = duplicateOf === undefined ? undefined : newIndexes.get(duplicateOf);
    yield { ...row, index, ...(first === undefined ? {} : { duplicateOf: first }) };
  }
}
