/** Events that the client emits for metrics and logs; no field ever contains a secret. */
export type ClientEvent =
  | {
      /** A response arrived, successful or not. */
      readonly type: "answered";
      readonly operation: string;
      readonly bucket: string;
      readonly status: number;
      /** From sending the request to the response headers. */
      readonly durationMs: number;
    }
  /** No response arrived; `wasSent` says whether the request was sent. */
  | {
      readonly type: "unanswered";
      readonly operation: string;
      readonly bucket: string;
      readonly wasSent: boolean;
    }
  /** The platform responded with 429. */
  | {
      readonly type: "throttled";
      readonly operation: string;
      readonly bucket: string;
      readonly retryAfterMs: number;
    }
  | {
      readonly type: "renewed";
      readonly reason: RenewalReason;
      /** `auth`: by an authentication; `token`: by the deployment's token operation. */
      readonly by: "auth" | "token";
      readonly expiresAtMs: number;
      /** The AuthKey that the pair was obtained with, if any. */
      readonly authKeyId?: string;
    }
  | {
      readonly type: "renewal-failed";
      readonly reason: RenewalReason;
      readonly message: string;
    }
  /** The platform rejected this AuthKey; the client tries the next one in the list, if any. */
  | {
      readonly type: "auth-key-refused";
      readonly authKeyId: string;
      readonly message: string;
    }
  /** A new list of credentials was unusable; the previous one stays in use. */
  | {
      readonly type: "credentials-kept";
      readonly message: string;
    };

/** `first` in this process, `early` before expiry, `expired` after it, `refused` after a 401, `asked` by the owner. */
export type RenewalReason = "first" | "early" | "expired" | "refused" | "asked";
