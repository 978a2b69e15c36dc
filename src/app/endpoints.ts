/** The endpoints of all features: the server mounts them, and commands call them in their own process. */
import type { Endpoint } from "#contract/route.ts";
import type { Clock } from "#core/time.ts";
import { eventEndpoints } from "#events/endpoints.ts";
import { auditEndpoints } from "#jobs/audit/endpoints.ts";
import { freezeEndpoints } from "#jobs/freezes/endpoints.ts";
import { inventoryEndpoints } from "#jobs/inventory/endpoints.ts";
import type { BucketWindow } from "#jobs/quota/contract.ts";
import { quotaEndpoints } from "#jobs/quota/endpoints.ts";
import { runEndpoints } from "#jobs/runs/endpoints.ts";
import type { PlanStore } from "#jobs/runs/plan/plan-store.ts";
import { authKeyEndpoints } from "#jobs/authkeys/endpoints.ts";
import { automationEndpoints } from "#jobs/automations/endpoints.ts";
import { credentialEndpoints } from "#jobs/credentials/endpoints.ts";
import { scheduleEndpoints } from "#jobs/schedules/endpoints.ts";
import { webhookEndpoints } from "#jobs/webhooks/endpoints.ts";
import type { App } from "./app.ts";
import { profileEndpoints } from "./profile-endpoints.ts";

/** What endpoints use besides the app. */
export interface EndpointDeps {
  /** Where plans are kept until a run is started from them. */
  readonly plans: PlanStore;
  readonly clock: Clock;
  /** Recent periods of a bucket; only a worker takes samples. */
  readonly windowsOf: (bucket: string) => readonly BucketWindow[];
}

export function endpointsOf(app: App, { plans, clock, windowsOf }: EndpointDeps): readonly Endpoint[] {
  const { config, control, sims, runs } = app;
  const profileOf = (name?: string): string => app.profileOf(name);
  const assertUsable = (profile: string): void => void app.client(profile);
  const profiles = Object.keys(config.profiles);
  return [
    ...profileEndpoints(config),
    ...runEndpoints({ runs, plans, clock, profileOf, assertUsable }),
    ...scheduleEndpoints(app.schedules),
    ...inventoryEndpoints({ sims, fleet: control.fleet, profiles, profileOf, assertCallable: assertUsable }),
    ...quotaEndpoints({ buckets: () => runs.buckets(), windowsOf }),
    ...freezeEndpoints(app.freezes, profiles),
    ...eventEndpoints(app.feed, profileOf),
    ...auditEndpoints(control.audit),
    ...automationEndpoints({ automations: app.automations, clock }),
    ...webhookEndpoints(app.webhooks),
    ...credentialEndpoints({ credentials: app.credentials, profileOf, profiles }),
    ...authKeyEndpoints({ authKeys: app.authKeys, profileOf }),
  ];
}
