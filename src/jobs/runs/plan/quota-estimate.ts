/** How long calls take at a quota, from what is known of it now. */

/** What matters of a bucket for an estimate. */
export interface QuotaView {
  /** Calls per period; undefined until the first answer told. */
  readonly limit: number | undefined;
  /** Calls left in the present period. */
  readonly left: number | undefined;
  /** Calls kept for other callers. */
  readonly reserved: number;
  /** Time to the next refresh. */
  readonly untilRefreshMs: number;
  readonly periodMs: number;
}

/**
 * Least time until `calls` calls are out, in milliseconds; undefined while the quota is unknown.
 * @param callsPerMinute a rate of the run's own, where it has one
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
