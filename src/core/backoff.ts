/**
 * Exponential backoff with full jitter on its upper half: delays grow, and waiters do not all return at the same time.
 */
export interface BackoffPolicy {
  readonly baseMs: number;
  readonly capMs: number;
}

/**
 * The delay before attempt number `attempt + 1`, in whole milliseconds, at least 1.
 * @param random a number in [0, 1); default: the process's random generator
 */
export function backoffMs(policy: BackoffPolicy, attempt: number, random: number = Math.random()): number {
  const full = Math.min(policy.capMs, policy.baseMs * 2 ** Math.max(0, Math.min(attempt - 1, 30)));
  return Math.max(1, Math.round(full / 2 + (full / 2) * random));
}

/**
 * A delay of about `ms`, a tenth more or less, so that things that failed together do not retry together.
 * @param random a number in [0, 1); default: the process's random generator
 */
export function about(ms: number, random: number = Math.random()): number {
  return Math.round(ms * (0.9 + 0.2 * random));
}
