/** The endpoints of all features: the server mounts them, and commands call them in their own process. */
import type { Endpoint } from "#contract/route.ts";
import { systemClock } from "#core/time.ts";
import { profileOf } from "#http/plans/order.ts";
import { authKeyEndpoints } from "#jobs/authkeys/endpoints.ts";
import { automationEndpoints } from "#jobs/automations/endpoints.ts";
import { credentialEndpoints } from "#jobs/credentials/endpoints.ts";
import { scheduleEndpoints } from "#jobs/schedules/endpoints.ts";
import { webhookEndpoints } from "#jobs/webhooks/endpoints.ts";
import type { App } from "./app.ts";

export function endpointsOf(app: App): readonly Endpoint[] {
  const { authKeys, automations, config, credentials, schedules, webhooks } = app;
  const ofProfile = (named: string | undefined): string => profileOf(named, { config });
  const profiles = Object.keys(config.profiles);
  return [
    ...scheduleEndpoints(schedules),
    ...automationEndpoints({ automations, clock: systemClock }),
    ...webhookEndpoints(webhooks),
    ...credentialEndpoints({ credentials, profileOf: ofProfile, profiles }),
    ...authKeyEndpoints({ authKeys, profileOf: ofProfile }),
  ];
}
