/**
 * A caller's permission for one call, from its grant to the response. A permit counts as a spent call in its bucket,
 * for every process, until it is answered, given back, or its lease expires.
 */

/** The three rate-limit headers of one response (interface, section 8). */
export interface QuotaReading {
  /** Calls allowed per period for the whole group. */
  readonly limit: number;
  /** Calls left in the current period; 0 if spent. */
  readonly remaining: number;
  /** Whole seconds until the period ends; whether they are rounded up, down or to the nearest is not known. */
  readonly secondsBeforeRefresh: number;
}

/** Exactly one of `answered`, `lost` and `giveBack` ends a permit; `sending` comes before the first two. */
export interface Permit {
  /** Must be called right before the request is sent. */
  sending(): void;
  /**
   * A response arrived, successful or not.
   * @param answer `reading`: the three headers, absent if the response lacked them; `throttled`: it was a 429;
   *   `retryAfterMs`: from the Retry-After header
   */
  answered(answer: { reading?: QuotaReading | undefined; throttled: boolean; retryAfterMs?: number | undefined }): void;
  /** The request was sent, or may have been, and no response will arrive. */
  lost(): void;
  /** The request was never sent. */
  giveBack(): void;
}

/**
 * How urgent a call is. `priority`: a user or tool waits; it goes before bulk work and may use what that leaves others.
 */
export type Urgency = "normal" | "priority";

export interface PermitRequest {
  readonly bucket: string;
  readonly urgency: Urgency;
  /** The caller's own rate limit, below the quota: calls with one `id` are spaced evenly, across processes. */
  readonly pace?: { readonly id: string; readonly callsPerMinute: number } | undefined;
  /**
   * Total number of calls still wanted, including those in flight, if known: it determines whether a window must be
   * used to its last call. Called for every permit request.
   */
  readonly backlog?: (() => number) | undefined;
  readonly signal?: AbortSignal | undefined;
}
