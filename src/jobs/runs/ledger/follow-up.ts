/**
 * Retries and undos of a run whose calls must not be repeated. The first to be committed takes the rows: it is recorded
 * in the head of their run (commit-run.lua), and every other is refused.
 */
import { SimfleetError } from "#core/errors.ts";
import { type Outcome, outcomes } from "#fleet/run.ts";

/** Rows that only one run may take: those with an outcome, for a retry, or those to be undone. */
export type RowGroup = Outcome | "undo";

/** The runs that took rows of a run. */
export type TakenRows = Readonly<Partial<Record<RowGroup, string>>>;

/** The field of the head that holds the run that took the rows. */
export function takenField(group: RowGroup): string {
  return `taken.${group}`;
}

/** @param hash the head of a run */
export function takenIn(hash: Readonly<Record<string, string>>): TakenRows {
  const taken: Partial<Record<RowGroup, string>> = {};
  for (const group of [...outcomes, "undo"] as const) {
    const by = hash[takenField(group)];
    if (by !== undefined) taken[group] = by;
  }
  return taken;
}

/** @param by the run that took the rows */
export function alreadyTaken(runId: string, group: RowGroup, by: string): SimfleetError {
  const what =
    group === "undo" ? `Run ${runId} was already undone` : `The ${group} rows of run ${runId} were already retried`;
  return new SimfleetError(
    "RUN_STATE_CONFLICT",
    `${what} by run ${by}; retry that run instead, because these calls must not be repeated: simfleet runs retry ${by}`,
  );
}

/**
 * @param newRunId the run that is to take the rows, if its id is known: it may have taken them already
 * @throws SimfleetError RUN_STATE_CONFLICT if another run has taken some of the rows
 */
export function assertNotTaken(
  { runId, taken }: { readonly runId: string; readonly taken: TakenRows },
  groups: readonly RowGroup[],
  newRunId: string | undefined,
): void {
  for (const group of groups) {
    const by = taken[group];
    if (by !== undefined && by !== newRunId) throw alreadyTaken(runId, group, by);
  }
}
