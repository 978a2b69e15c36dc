/** Estimates how long calls take at a quota, from the current state of its bucket. */

/** The state of a bucket, as far as an estimate needs it. */
export interface QuotaView {
  /** Calls per period; undefined until the first response reports it. */
  readonly limit: number | undefined;
  /** Calls left in the current period. */
  readonly left: number | undefined;
  /** Calls reserved for other callers. */
  readonly reserved: number;
  /** Time to the next refresh. */
  readonly untilRefreshMs: number;
  readonly periodMs: number;
}

export const unknownQuota: QuotaView = {
  limit: undefined,
  left: undefined,
  reserved: 0,
  untilRefreshMs: 0,
  periodMs: 0,
};

/**
 * Minimum time to send `calls` calls, in milliseconds; undefined while the quota is unknown.
 * @param callsPerMinute the run's own rate limit, if it has one
 */
export function leastTimeMs(calls: number, quota: QuotaView, callsPerMinute?: number): number | undefined {
  const atOwnRateMs = callsPerMinute === undefined ? 0 : (calls / callsPerMinute) * 60_000;
  if (quota.limit === undefined) return callsPerMinute === undefined ? undefined : atOwnRateMs;
  const perWindow = Math.max(1, quota.limit - quota.reserved);
  const now = Math.max(0, (quota.left ?? quota.limit) - quota.reserved);
  if (calls <= now) return atOwnRateMs;
  const windows = Math.ceil((calls - now) / perWindow);
  return Math.max(atOwnRateMs, quota.untilRefreshMs + (windows - 1) * quota.periodMs);
}
