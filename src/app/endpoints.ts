/** The endpoints of all features: the server mounts them, and commands call them in their own process. */
import type { Endpoint } from "#contract/route.ts";
import type { Clock } from "#core/time.ts";
import type { BucketWindow } from "#jobs/quota/contract.ts";
import type { PlanStore } from "#jobs/runs/plan/plan-store.ts";
import type { App } from "./app.ts";

/** What endpoints use besides the app. */
export interface EndpointDeps {
  /** Where plans are kept until a run is started from them. */
  readonly plans: PlanStore;
  readonly clock: Clock;
  /** What carries out the calls: a worker, or a command that may leave the work to one. */
  readonly process: "worker" | "command";
  /** Recent periods of a bucket; only a worker takes samples. */
  readonly windowsOf: (bucket: string) => readonly BucketWindow[];
}

/** A feature as far as its routes are concerned. */
export interface FeatureRoutes {
  /** Loads them when they are needed: the help of commands needs none. */
  readonly endpoints?: (app: App, deps: EndpointDeps) => Promise<readonly Endpoint[]>;
}

export async function endpointsOf(
  features: readonly FeatureRoutes[],
  app: App,
  deps: EndpointDeps,
): Promise<readonly Endpoint[]> {
  return (await Promise.all(features.map(async ({ endpoints }) => (await endpoints?.(app, deps)) ?? []))).flat();
}
