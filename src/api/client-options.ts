/** What a client is made of; checked when it is made, so that a wrong setting is no surprise of the first call. */
import type { Clock } from "#core/time.ts";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";
import type { Language, Profile } from "#fleet/profile.ts";
import type { Permit, Urgency } from "#limiter/permit.ts";
import type { ClientEvent } from "./client-event.ts";
import type { Endpoints } from "./coverage.ts";
import type { Credentials } from "./credential-list.ts";
import type { TokenVerification } from "./token-claims.ts";
import type { TransportOptions } from "./transport.ts";

/** A ceiling below the quota that several calls share: the `id` names who shares it. */
export interface Pace {
  readonly id: string;
  readonly callsPerMinute: number;
}

/** Grants calls; the limiter is one. */
export interface Permits {
  /**
   * @throws PlatformError PLATFORM_THROTTLED with `retryAfterMs` when the wait would be longer than about 2 s
   * @throws the signal's reason when it aborts
   */
  acquire(request: {
    bucket: string;
    urgency: Urgency;
    pace?: Pace | undefined;
    backlog?: (() => number) | undefined;
    signal?: AbortSignal | undefined;
  }): Promise<Permit>;
}

export interface PlatformClientOptions {
  readonly profile: Profile;
  /** Word in the names of headers: `Svc`. */
  readonly brand: string;
  /** Language of the platform's error messages. */
  readonly language: Language;
  readonly endpoints: Endpoints;
  /** Field of the authentication request that asks for a lifetime, where the deployment has one. */
  readonly ttlField?: string | undefined;
  /** Lifetime of a pair to ask for, 180 to 172,800; the platform's default is 86,400. */
  readonly ttlSeconds?: number | undefined;
  /** One form, or what gives the present ones, the preferred first; looked at with each authentication. */
  readonly credentials: Credentials;
  /** The deployment's operation that gives a valid pair a new token; absent: every renewal is an authentication. */
  readonly renewToken?: DeploymentOperation | undefined;
  /** Absent: claims of tokens are not used at all. */
  readonly tokenVerification?: TokenVerification | undefined;
  /** Length of the quota's period; 60,000 by default. */
  readonly periodMs?: number | undefined;
  /** Most calls in flight in this process. */
  readonly connections: number;
  readonly clock: Clock;
  readonly permits: Permits;
  /** `simfleet/0.1.0`. */
  readonly userAgent: string;
  /** Name of the address that this process's calls come from: letters, digits, `_` and `-`; `here` by default. */
  readonly egress?: string | undefined;
  /** Told of answers, throttles and renewals; what it throws is ignored. */
  readonly onEvent?: ((event: ClientEvent) => void) | undefined;
  /** Spreads early renewals over the workers of a fleet: numbers in [0, 1); the machine's generator by default. */
  readonly chance?: (() => number) | undefined;
  /** Timeouts and size of answers. */
  readonly transport?: Omit<TransportOptions, "connections" | "clock"> | undefined;
}

export interface CallOptions {
  /** Ends the waiting for a turn; a request that is out runs to its end. */
  readonly signal?: AbortSignal | undefined;
  /** `normal` by default. */
  readonly urgency?: Urgency | undefined;
  readonly pace?: Pace | undefined;
  /** Told when the request goes out, for a caller with work of its own to do meanwhile. */
  readonly onSending?: (() => void) | undefined;
  /** How many calls are still wanted in all, where the caller knows; for the permits. */
  readonly backlog?: (() => number) | undefined;
}
