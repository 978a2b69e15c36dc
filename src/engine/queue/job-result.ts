/** The result of a job, as a value. The work never calls the queue: queue-worker.ts translates it for BullMQ. */
import type { PlatformError } from "#core/errors.ts";

/** The work ended, successfully or not, or it continues later. */
export type WorkResult = { readonly kind: "ended" } | Interruption;

export type JobResult =
  | WorkResult
  /** All rows of a segment are settled. `hasEndedWave`: more jobs of the run can be enqueued. */
  | { readonly kind: "finished"; readonly hasEndedWave: boolean }
  /** The run is paused or has ended. */
  | { readonly kind: "parked" };

/** Continue later; with scope `bucket` the whole queue waits. */
export interface Postponed {
  readonly kind: "postponed";
  readonly delayMs: number;
  readonly scope: "bucket" | "job";
  readonly reason: string;
  /** The platform rejected our credentials or permissions. */
  readonly refusal?: PlatformError;
}

export type Interruption =
  | Postponed
  /** Handed back: this process is stopping, and another one continues. */
  | { readonly kind: "handed-back" };

// A queue's consumer as its owner sees it: whether it progresses, what it reports, and how it stops.

/** Something an operator should know about. */
export interface Incident {
  readonly message: string;
  readonly runId?: string;
  /** The platform rejected our credentials or permissions. */
  readonly refusal?: PlatformError;
  /** The report of the work contains it too, so that users who follow the work need no extra message. */
  readonly isInReport?: boolean;
}

/** A consumer that can be monitored and stopped. */
export interface Working {
  isMoving(withinMs: number): Promise<boolean>;
  /** Replaces the connections that it takes work with. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}
