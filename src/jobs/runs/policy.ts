/** Limits on the size of a run: the maximum, and the size above which a second user must approve it. */
import { SimfleetError } from "#core/errors.ts";
import type { Danger } from "#fleet/sim-operation/danger.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";

export interface RunPolicy {
  /** A run with more changes than this is refused; undefined: no limit. */
  readonly mostChanges: number | undefined;
  /** A run with more changes than this waits for another user's approval; undefined: approval is never needed. */
  readonly approvalAbove: number | undefined;
  /** Runs of operations with one of these dangers wait for approval, whatever their size. */
  readonly approvalFor: readonly Danger[];
}

/** @throws SimfleetError USAGE */
export function assertWithinPolicy({ mostChanges }: RunPolicy, { calls }: { readonly calls: number }): void {
  if (mostChanges === undefined || calls <= mostChanges) return;
  throw new SimfleetError(
    "USAGE",
    `The run has ${calls} changes, more than the limit of ${mostChanges} (changes.mostRows). Nothing was started. Split the file or raise the limit`,
  );
}

/**
 * An irreversible operation needs its number of calls from a person.
 * @param confirm the number that was given
 * @throws SimfleetError NOT_CONFIRMED
 */
export function assertConfirmed(
  { name, danger }: Pick<SimOperation, "name" | "danger">,
  { calls, confirm }: { readonly calls: number; readonly confirm: number | undefined },
): void {
  if (danger !== "irreversible" || calls === 0 || confirm === calls) return;
  const given = confirm === undefined ? "was not confirmed" : `was confirmed for ${confirm}, not ${calls}`;
  throw new SimfleetError(
    "NOT_CONFIRMED",
    `${name} cannot be undone, and ${given} SIMs: nothing was started. Confirm the number with --confirm ${calls}`,
  );
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
