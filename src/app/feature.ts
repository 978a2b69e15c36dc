/** A feature as the app uses it: its routes, and what a worker does for it. */
import type { Endpoint } from "#contract/route.ts";
import type { Incident, Working } from "#engine/queue/working.ts";
import type { Clock } from "#core/time.ts";
import type { SeenCalls } from "#jobs/quota/report.ts";
import type { PlanStore } from "#jobs/runs/plan/plan-store.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { App } from "./app.ts";

/** What endpoints use besides the app. */
export interface EndpointDeps {
  /** Where plans are kept until a run is started from them. */
  readonly plans: PlanStore;
  readonly clock: Clock;
  /** What carries out the calls: a worker, or a command that may leave the work to one. */
  readonly process: "worker" | "command";
  /** What this process has seen of a bucket's calls; only a worker takes samples. */
  readonly seenCalls: (bucket: string) => SeenCalls;
}

export interface WorkDeps {
  /** Those with credentials. */
  readonly profiles: readonly string[];
  readonly logger: Logger;
}

export interface AppFeature {
  /** Loads them when they are needed: the help of commands needs none. */
  readonly endpoints?: (app: App, deps: EndpointDeps) => Promise<readonly Endpoint[]>;
  /**
   * Starts what a worker does for the feature; closing the app stops it.
   * @returns the consumers of queues, which are watched for progress
   */
  readonly work?: (app: App, deps: WorkDeps) => Promise<readonly Working[]>;
}

/** The endpoints of all features: the server mounts them, and commands call them in their own process. */
export async function endpointsOf(
  features: readonly AppFeature[],
  app: App,
  deps: EndpointDeps,
): Promise<readonly Endpoint[]> {
  return (await Promise.all(features.map(async ({ endpoints }) => (await endpoints?.(app, deps)) ?? []))).flat();
}

/** Logs what an operator should know about a kind of work. */
export function logIncidents(
  logger: Logger,
  about: { readonly job: string; readonly profile?: string },
): (incident: Incident) => void {
  return ({ message, runId }) => logger.error(runId === undefined ? about : { ...about, runId }, message);
}
