/** The endpoints of all features: the server mounts them, and commands call them in their own process. */
import type { Endpoint } from "#contract/route.ts";
import type { Clock } from "#core/time.ts";
import { runEndpoints } from "#jobs/runs/endpoints.ts";
import type { PlanStore } from "#jobs/runs/plan/plan-store.ts";
import { scheduleEndpoints } from "#jobs/schedules/endpoints.ts";
import type { App } from "./app.ts";

export function endpointsOf(app: App, { plans, clock }: { plans: PlanStore; clock: Clock }): readonly Endpoint[] {
  const { runs, schedules } = app;
  const profileOf = (name?: string): string => app.profileOf(name);
  return [
    ...runEndpoints({ runs, plans, clock, profileOf, assertUsable: (profile) => void app.client(profile) }),
    ...scheduleEndpoints(schedules),
  ];
}
