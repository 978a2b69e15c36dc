/**
 * The current problem of durable work (a run, a sync, a rotation): why it makes no progress, and when it is retried. It
 * is kept in the work's record as JSON until the next success. A spent quota or a rejected row is no problem.
 */
export interface Problem {
  /** One sentence for display. */
  readonly message: string;
  /** Time of the first failure since the last success, ms since the epoch. */
  readonly sinceMs: number;
  /** Failed attempts since `sinceMs`. */
  readonly attempts: number;
  /** When the next attempt is due, ms since the epoch; 0 when it is not known. */
  readonly nextAttemptMs: number;
}

/** Whether the problem is worth showing: a single failed call that is retried within a second is not. */
export function isLasting({ sinceMs, nextAttemptMs }: Problem): boolean {
  return nextAttemptMs - sinceMs >= 1_000;
}

/** A problem as it appears in JSON (`currentProblem`). */
export function reportOfProblem({ message, sinceMs, attempts, nextAttemptMs }: Problem) {
  return {
    message,
    since: new Date(sinceMs).toISOString(),
    attempts,
    nextAttemptAt: nextAttemptMs === 0 ? null : new Date(nextAttemptMs).toISOString(),
  };
}

/** Returns the problem after one more failure. */
export function nextProblem(
  before: Problem | undefined,
  failure: { readonly message: string; readonly nowMs: number; readonly delayMs: number },
): Problem {
  const { message, nowMs, delayMs } = failure;
  const { sinceMs = nowMs, attempts = 0 } = before ?? {};
  return { message, sinceMs, attempts: attempts + 1, nextAttemptMs: nowMs + Math.max(1, Math.ceil(delayMs)) };
}

/** Lua functions that write the problem of a record; concatenated into the scripts that need them. */
export const problemScriptPart = new URL("./problem.lua", import.meta.url);
