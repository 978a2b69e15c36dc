/**
 * Exponential backoff with full jitter on its upper half: delays grow, and waiters do not all return at the same time.
 */
export interface BackoffPolicy {
  readonly baseMs: number;
  readonly capMs: number;
}

/** The delay before attempt number `attempt + 1`, in whole milliseconds, at least 1. */
export function backoffMs(policy: BackoffPolicy, attempt: number): number {
  const full = Math.min(policy.capMs, policy.baseMs * 2 ** Math.max(0, Math.min(attempt - 1, 30)));
  return Math.max(1, Math.round(full / 2 + (full / 2) * Math.random()));
}

/** A delay of about `ms`, a tenth more or less, so that things that failed together do not retry together. */
export function about(ms: number): number {
  return Math.round(ms * (0.9 + 0.2 * Math.random()));
}
