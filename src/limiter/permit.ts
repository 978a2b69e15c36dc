/**
 * What a caller holds between asking for a call and knowing its answer. A permit counts as a spent call in its bucket,
 * for every process, from the moment it is granted until it is answered, given back, or its lease ends.
 */

/** What the three rate-limit headers of one answer said (interface, section 8). */
export interface QuotaReading {
  /** Calls allowed per period for the whole group. */
  readonly limit: number;
  /** Calls left in the present period; 0 when spent. */
  readonly remaining: number;
  /** Whole seconds until the period ends; whether rounded up, down or to the nearest is not known. */
  readonly secondsBeforeRefresh: number;
}

/** Exactly one of `answered`, `lost` and `giveBack` ends a permit; `sending` comes before the first two. */
export interface Permit {
  /** To be called right before the request goes out. */
  sending(): void;
  /**
   * An answer came, good or bad.
   * @param answer `reading`: the three headers, absent when an answer lacked them; `throttled`: it was a 429;
   *   `retryAfterMs`: what a Retry-After header asked for
   */
  answered(answer: { reading?: QuotaReading | undefined; throttled: boolean; retryAfterMs?: number | undefined }): void;
  /** The request went out, or may have, and no answer will come. */
  lost(): void;
  /** The request never went out. */
  giveBack(): void;
}

/** How urgent a call is: `priority` calls may use the share of the quota that is reserved for other callers. */
export type Urgency = "normal" | "priority";
