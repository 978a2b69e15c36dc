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
      readonly reason: RenewalReason;
      /** `auth` by an authentication, `token` by the deployment's operation for it. */
      readonly by: "auth" | "token";
      readonly expiresAtMs: number;
      /** The AuthKey that the pair was made with, if it was one. */
      readonly authKeyId?: string;
    }
  | {
      readonly type: "renewal-failed";
      readonly reason: RenewalReason;
      readonly message: string;
    }
  /** The platform does not accept this AuthKey; the next of the list is tried, where there is one. */
  | {
      readonly type: "auth-key-refused";
      readonly authKeyId: string;
      readonly message: string;
    }
  /** A new list of credentials could not be used; the one before it stays. */
  | {
      readonly type: "credentials-kept";
      readonly message: string;
    };

/** `first` of this process, `early` before the end, `expired` after it, `refused` after a 401, `asked` by the owner. */
export type RenewalReason = "first" | "early" | "expired" | "refused" | "asked";
