/** The endpoints of all features: the server mounts them, and commands call them in their own process. */
import type { Endpoint } from "#contract/route.ts";
import { profileOf } from "#http/plans/order.ts";
import { inventoryEndpoints } from "#jobs/inventory/endpoints.ts";
import { scheduleEndpoints } from "#jobs/schedules/endpoints.ts";
import type { App } from "./app.ts";

export function endpointsOf(app: App): readonly Endpoint[] {
  const { config, control, sims } = app;
  return [
    ...scheduleEndpoints(app.schedules),
    ...inventoryEndpoints({
      sims,
      fleet: control.fleet,
      profiles: Object.keys(config.profiles),
      profileOf: (named) => profileOf(named, app),
      assertCallable: (profile) => void app.client(profile),
    }),
  ];
}
