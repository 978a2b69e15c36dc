/**
 * What a job is to the rest of the house: work on one slice of a run, told by reference, answered by a value. A job
 * never talks to the queue; it says how its work ended, and the queue's room turns that into machinery.
 */
import type { PlatformError } from "#core/errors.ts";
import type { ShownSim } from "#store/ledger.ts";

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

/** How the work on a segment ended, for the queue. */
export type Verdict =
  /** All its rows are settled. `canaryHeld`: they were the last of the canary, and the rest of the run may start. */
  | { readonly kind: "finished"; readonly canaryHeld: boolean }
  /** The run is paused or over. */
  | { readonly kind: "parked" }
  | Interruption;

/** How the work on a sync ended: it is over, well or not, or goes on another time. */
export type SyncVerdict = { readonly kind: "ended" } | Interruption;

/** Work that is not over. */
export type Interruption =
  /** Go on later; with scope `bucket` the whole queue waits. */
  | {
      readonly kind: "postponed";
      readonly delayMs: number;
      readonly scope: "bucket" | "job";
      readonly reason: string;
      /** The platform refuses our credentials or permissions. */
      readonly refusal?: PlatformError;
    }
  /** This process is stopping; another one goes on. */
  | { readonly kind: "handed-back" };
