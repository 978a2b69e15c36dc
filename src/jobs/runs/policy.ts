/** Limits on the size of a run: the maximum, and the size above which a second user must approve it. */
import { SimfleetError } from "#core/errors.ts";
import type { Danger } from "#fleet/sim-operation/danger.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import type { RunHead } from "./ledger/run-record.ts";

export interface RunPolicy {
  /** A run with more changes than this is refused; undefined: no limit. */
  readonly maxChanges: number | undefined;
  /** A run with more changes than this waits for another user's approval; undefined: approval is never needed. */
  readonly approvalAbove: number | undefined;
  /** Runs of operations with one of these dangers wait for approval, whatever their size. */
  readonly approvalFor: readonly Danger[];
}

/** @throws SimfleetError USAGE */
export function assertWithinPolicy({ maxChanges }: RunPolicy, { calls }: { readonly calls: number }): void {
  if (maxChanges === undefined || calls <= maxChanges) return;
  throw new SimfleetError(
    "USAGE",
    `The run has ${calls} changes, more than the limit of ${maxChanges} (changes.maxRows). Nothing was started. Split the file or raise the limit`,
  );
}

/**
 * Calls that cannot be undone need their number from a person.
 * @param counts the number of these calls, and the number that was given
 * @throws SimfleetError NOT_CONFIRMED
 */
export function assertConfirmed(
  operations: RunHead["operations"],
  { irreversible, confirm }: { readonly irreversible: number; readonly confirm: number | undefined },
): void {
  if (irreversible === 0 || confirm === irreversible) return;
  const given = confirm === undefined ? "was not confirmed" : `was confirmed for ${confirm} SIMs, not ${irreversible}`;
  throw new SimfleetError(
    "NOT_CONFIRMED",
    `${maxDangerous(operations).name} is irreversible and ${given}: nothing was started. Confirm the number of SIMs: --confirm ${irreversible} on the command line, confirm in the API`,
  );
}

/** The operation of a run to name before it starts: one that is irreversible, or the first. */
export function maxDangerous(operations: RunHead["operations"]): SimOperation {
  return operations.find(({ danger }) => danger === "irreversible") ?? operations[0];
}

export function needsApproval(
  { approvalAbove, approvalFor }: RunPolicy,
  { calls, operations }: { readonly calls: number; readonly operations: readonly Pick<SimOperation, "danger">[] },
): boolean {
  return (
    (approvalAbove !== undefined && calls > approvalAbove) ||
    (calls > 0 && operations.some(({ danger }) => approvalFor.includes(danger)))
  );
}
