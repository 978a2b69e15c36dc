/** A queue's consumer as its owner sees it: whether it progresses, what it reports, and how it stops. */
import type { PlatformError } from "#core/errors.ts";

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
