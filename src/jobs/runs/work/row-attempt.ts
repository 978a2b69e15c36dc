/** What a worker attempts for one row of a run, and how the attempt ended. */
import type { PlatformError } from "#core/errors.ts";
import type { ShownSim } from "../ledger/ledger.ts";

/** A slice of a run, as a queue carries it: never the rows themselves. */
export interface SegmentReference {
  readonly runId: string;
  readonly segment: number;
}

/** How one try of one row ended. */
export type TryResult =
  | { readonly kind: "done"; readonly shown: ShownSim }
  /** No call was made, since the SIM is no longer as the row takes it to be. */
  | { readonly kind: "skipped"; readonly reason: string }
  | { readonly kind: "rejected"; readonly reason: string }
  /** No attempt is spent: the quota, the run's own rate, or a platform that cannot be reached at all. */
  | {
      readonly kind: "postponed";
      readonly delayMs: number;
      readonly scope: "bucket" | "job";
      readonly wasThrottled: boolean;
      /** Something is wrong, other than a spent quota: people have to see it. */
      readonly isProblem: boolean;
      readonly reason: string;
    }
  /** The call went out and its answer was lost: the change may have been made, and is sent again. */
  | { readonly kind: "unknown"; readonly reason: string }
  /** The call failed and changed nothing; worth another try. */
  | { readonly kind: "failed-try"; readonly reason: string }
  /** The platform refuses us, not this row. */
  | { readonly kind: "refused"; readonly error: PlatformError };
