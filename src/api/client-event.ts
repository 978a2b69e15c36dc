/** What the client tells of itself, for metrics and logs; no field ever holds a secret. */
export type ClientEvent =
  | {
      /** An answer came, good or bad. */
      readonly type: "answered";
      readonly operation: string;
      readonly bucket: string;
      readonly status: number;
      /** From sending to the head of the answer. */
      readonly durationMs: number;
    }
  /** No answer came; `wasSent` tells whether the request went out. */
  | {
      readonly type: "unanswered";
      readonly operation: string;
      readonly bucket: string;
      readonly wasSent: boolean;
    }
  /** The platform answered 429. */
  | {
      readonly type: "throttled";
      readonly operation: string;
      readonly bucket: string;
      readonly retryAfterMs: number;
    }
  | {
      readonly type: "renewed";
      /** `first` of this process, `early` before the end, `expired` after it, `refused` after a 401. */
      readonly reason: "first" | "early" | "expired" | "refused";
      readonly expiresAtMs: number;
    }
  | {
      readonly type: "renewal-failed";
      readonly reason: "first" | "early" | "expired" | "refused";
      readonly message: string;
    };
