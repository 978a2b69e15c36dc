/** How much one run may change by itself: the largest run there may be, and the size from which a second person approves. */
import { SimfleetError } from "#core/errors.ts";

export interface RunPolicy {
  /** A run of more changes than this is refused; undefined: there is no bound. */
  readonly mostChanges: number | undefined;
  /** A run of more changes than this waits until somebody else approves it; undefined: none does. */
  readonly approvalAbove: number | undefined;
}

/** @throws SimfleetError USAGE */
export function assertWithinPolicy({ mostChanges }: RunPolicy, { calls }: { readonly calls: number }): void {
  if (mostChanges === undefined || calls <= mostChanges) return;
  throw new SimfleetError(
    "USAGE",
    `The run has ${calls} changes, more than the limit of ${mostChanges} (changes.mostRows). Nothing was started. Split the file or raise the limit`,
  );
}

export function needsApproval({ approvalAbove }: RunPolicy, { calls }: { readonly calls: number }): boolean {
  return approvalAbove !== undefined && calls > approvalAbove;
}
