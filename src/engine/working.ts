/** Work on a queue as its owner sees it: whether it moves, what it reports, and how it stops. */
import type { PlatformError } from "#core/errors.ts";

/** Something that an operator should hear of. */
export interface Incident {
  readonly message: string;
  readonly runId?: string;
  /** The platform refuses our credentials or permissions. */
  readonly refusal?: PlatformError;
  /** The report of the work says it as well, so that whoever follows it needs no message. */
  readonly isInReport?: boolean;
}

/** Work on a queue that can be watched and stopped. */
export interface Working {
  isMoving(withinMs: number): Promise<boolean>;
  stop(): Promise<void>;
}
