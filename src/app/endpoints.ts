/** The endpoints of all features: the server mounts them, and commands call them in their own process. */
import type { Endpoint } from "#contract/route.ts";
import type { Clock } from "#core/time.ts";
import type { SeenCalls } from "#jobs/quota/report.ts";
import type { PlanStore } from "#jobs/runs/plan/plan-store.ts";
import type { App } from "./app.ts";

/** What endpoints use besides the app. */
export interface EndpointDeps {
  /** Where plans are kept until a run is started from them. */
  readonly plans: PlanStore;
  readonly clock: Clock;
  /** What carries out the calls: a worker, or a command that may leave the work to one. */
  readonly process: "worker" | "command";
  /** Recent calls of a bucket; only a worker takes samples. */
  readonly seenCalls: (bucket: string) => SeenCalls;
}

/** A feature as far as its routes are concerned. */
export interface FeatureRoutes {
  readonly endpoints?: (app: App, deps: EndpointDeps) => readonly Endpoint[];
}

export function endpointsOf(features: readonly FeatureRoutes[], app: App, deps: EndpointDeps): readonly Endpoint[] {
  return features.flatMap(({ endpoints }) => endpoints?.(app, deps) ?? []);
}
