/** Limits on the size of a run: the maximum, and the size above which a second user must approve it. */
import { SimfleetError } from "#core/errors.ts";

export interface RunPolicy {
  /** A run with more changes than this is refused; undefined: no limit. */
  readonly mostChanges: number | undefined;
  /** A run with more changes than this waits for another user's approval; undefined: approval is never needed. */
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
