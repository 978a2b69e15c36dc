/** The endpoints of all features: the server mounts them, and commands call them in their own process. */
import type { Endpoint } from "#contract/route.ts";
import { eventEndpoints } from "#events/endpoints.ts";
import { profileOf } from "#http/plans/order.ts";
import { auditEndpoints } from "#jobs/audit/endpoints.ts";
import { freezeEndpoints } from "#jobs/freezes/endpoints.ts";
import { inventoryEndpoints } from "#jobs/inventory/endpoints.ts";
import type { BucketWindow } from "#jobs/quota/contract.ts";
import { quotaEndpoints } from "#jobs/quota/endpoints.ts";
import { scheduleEndpoints } from "#jobs/schedules/endpoints.ts";
import type { App } from "./app.ts";
import { profileEndpoints } from "./profile-endpoints.ts";

/** @param windowsOf recent periods of a bucket; only a worker takes samples */
export function endpointsOf(
  app: App,
  windowsOf: (bucket: string) => readonly BucketWindow[] = () => [],
): readonly Endpoint[] {
  const { config, control, sims, runs } = app;
  const chosen = (named?: string): string => profileOf(named, app);
  const profiles = Object.keys(config.profiles);
  return [
    ...profileEndpoints(config),
    ...scheduleEndpoints(app.schedules),
    ...inventoryEndpoints({
      sims,
      fleet: control.fleet,
      profiles,
      profileOf: chosen,
      assertCallable: (profile) => void app.client(profile),
    }),
    ...quotaEndpoints({ buckets: () => runs.buckets(), windowsOf }),
    ...freezeEndpoints(app.freezes, profiles),
    ...eventEndpoints(app.feed, chosen),
    ...auditEndpoints(control.audit),
  ];
}
