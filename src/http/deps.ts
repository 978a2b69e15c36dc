/** The dependencies of the routes of the control API, and the metadata of a route. */
import type { FastifyPluginCallbackZod } from "fastify-type-provider-zod";
import type { Endpoint } from "#contract/route.ts";
import type { Role } from "#fleet/role.ts";
import type { audit } from "#jobs/audit/feature.ts";
import type { runs } from "#jobs/runs/feature.ts";
import type { schedules } from "#jobs/schedules/feature.ts";
import type { Services } from "#kernel/feature.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { Reading } from "#telemetry/metrics.ts";
import type { Access, AuthFailures, Principal } from "./auth/access.ts";
import type { EventStreams } from "./event-streams.ts";

/** Services that routes of the server itself use. */
type Used = Services<{ audit: typeof audit; runs: typeof runs; schedules: typeof schedules }>;

export interface ControlDeps extends Pick<Kernel, "config" | "clock" | "logger" | "profileOf" | "redis" | "keys"> {
  readonly endpoints: readonly Endpoint[];
  readonly access: Access;
  readonly version: string;
  readonly streams: EventStreams;
  readonly audit: Used["audit"];
  readonly schedules: Used["schedules"];
  /** Where the rows of an upload are drafted. */
  readonly plans: Used["runs"]["service"]["plans"];
  /** Values for the metrics that are read from Redis. */
  readonly readings: () => Promise<Reading[]>;
  readonly authFailures: AuthFailures;
}

/** The part of the server on which bodies, queries and answers are checked against zod schemas. */
export type Api = Parameters<FastifyPluginCallbackZod>[0];

declare module "fastify" {
  interface FastifyContextConfig {
    /** Role that may call the route; `open` needs none. Required for every route. */
    role?: Role | "open";
    /** The kind under which the audit log has its calls; absent: `other`. */
    auditKind?: string | undefined;
    /** Words of the audit log for a call. */
    did?: string | undefined;
    /** The route reads the raw body, with any Content-Type. */
    takesAnyBody?: boolean;
  }
  interface FastifyRequest {
    /** The authenticated caller; absent on open routes. */
    principal: Principal | undefined;
    /** The audit entry; absent on requests that change nothing or were rejected before their handler. */
    audit: { readonly id: string; about?: string | undefined } | undefined;
  }
}
