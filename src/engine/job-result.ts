/**
 * How the work of a job ended, as a value. A job never talks to the queue: report-result.ts turns its result into what
 * BullMQ expects.
 */
import type { PlatformError } from "#core/errors.ts";

/** How the work on a segment ended, for the queue. */
export type JobResult =
  /** All its rows are settled. `canaryHeld`: they were the last of the canary, and the rest of the run may start. */
  | { readonly kind: "finished"; readonly canaryHeld: boolean }
  /** The run is paused or over. */
  | { readonly kind: "parked" }
  | Interruption;

/** How the work on a sync ended: it is over, well or not, or goes on another time. */
export type WorkResult = { readonly kind: "ended" } | Interruption;

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
