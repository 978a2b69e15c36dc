/** Options of a client, whose values the configuration has checked. */
import type { Clock } from "#core/time.ts";
import type { Credentials } from "#fleet/credentials.ts";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";
import type { Language, Profile } from "#fleet/profile.ts";
import type { Limiter } from "#limiter/limiter.ts";
import type { PermitRequest } from "#limiter/permit.ts";
import type { Endpoints } from "./auth/coverage.ts";
import type { TokenVerification } from "./auth/token-claims.ts";
import type { TransportOptions } from "./http/transport.ts";

export interface PlatformClientOptions {
  readonly profile: Profile;
  /** Word in header names: `Svc`. */
  readonly brand: string;
  /** Language of the platform's error messages. */
  readonly language: Language;
  readonly endpoints: Endpoints;
  /** Field of the authentication request that sets a lifetime, if the platform definition has one. */
  readonly ttlField?: string | undefined;
  /** Requested lifetime of a pair, 180 to 172,800; the platform's default is 86,400. */
  readonly ttlSeconds?: number | undefined;
  /** The current forms, preferred first, at least one; read at each authentication. */
  readonly credentials: () => readonly Credentials[];
  /**
   * The operation that issues a new token for a valid pair, if the platform definition has one. Default: authenticate.
   */
  readonly renewToken?: DeploymentOperation | undefined;
  /** Key that verifies token claims. Absent: claims are ignored. */
  readonly tokenVerification?: TokenVerification | undefined;
  /** Length of the quota window; default 60,000. */
  readonly periodMs?: number | undefined;
  /** Maximum number of calls in flight in this process. */
  readonly connections: number;
  readonly clock: Clock;
  readonly permits: Pick<Limiter, "acquire">;
  /** Who has the quotas of API groups: the operator (default), whatever its users, or each principal. */
  readonly quotaScope?: "operator" | "principal" | undefined;
  /** `simfleet/0.1.0`. */
  readonly userAgent: string;
  /** Name of the address that this process's calls come from: letters, digits, `_` and `-`; default `here`. */
  readonly egress?: string | undefined;
  /** Called for responses, throttles and renewals; exceptions it throws are ignored. */
  readonly onEvent?: ((event: ClientEvent) => void) | undefined;
  /** Spreads early renewals over the workers of a fleet: numbers in [0, 1); default: the system's random generator. */
  readonly chance?: (() => number) | undefined;
  /** Timeouts and response size limits. */
  readonly transport?: Omit<TransportOptions, "connections" | "clock"> | undefined;
}

/** The urgency is `normal` by default. The signal aborts the wait for a permit; a sent request runs to completion. */
export interface CallOptions extends Partial<Omit<PermitRequest, "bucket">> {
  /** Called when the request is sent, so that the caller can do other work meanwhile. */
  readonly onSending?: (() => void) | undefined;
  /**
   * Awaited right before the request is sent, with the permit in hand, so that the caller can record that it is sent.
   * If it rejects, nothing is sent. It is called again if the request is repeated after a 401.
   */
  readonly beforeSending?: (() => Promise<void>) | undefined;
  /** Awaited after a 401, before the request is repeated with a new pair: the platform has not carried it out. */
  readonly afterUnauthorized?: (() => Promise<void>) | undefined;
}

// Events that the client emits for metrics and logs; no field ever contains a secret.

export type ClientEvent =
  | {
      /** A response arrived, successful or not. */
      readonly type: "answered";
      readonly operation: string;
      readonly bucket: string;
      readonly status: number;
      /** From sending the request to the response headers. */
      readonly durationMs: number;
      /** Lead of the platform's clock over this one, by its Date header, which has whole seconds; NaN without one. */
      readonly clockAheadMs: number;
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
      /** `auth`: by an authentication; `token`: by the platform definition's token operation. */
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
      readonly type: "auth-key-rejected";
      readonly authKeyId: string;
      readonly message: string;
    }
  /**
   * The owner of the quotas that calls spend from now on, an operator or the profile; and a name for the operator's
   * SIMs of one coverage, by one kind of key, whatever the address.
   */
  | {
      readonly type: "quota-owner";
      readonly owner: string;
      readonly fleet: string;
      readonly isRoot: boolean;
    };

/** `first` in this process, `early` before expiry, `expired` after it, `rejected` after a 401, `asked` by the owner. */
export type RenewalReason = "first" | "early" | "expired" | "rejected" | "asked";
