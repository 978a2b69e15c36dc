/** The endpoints of all features: the server mounts them, and commands call them in their own process. */
import type { Endpoint } from "#contract/route.ts";
import { scheduleEndpoints } from "#jobs/schedules/endpoints.ts";
import type { App } from "./app.ts";

export function endpointsOf(app: App): readonly Endpoint[] {
  return [...scheduleEndpoints(app.schedules)];
}
