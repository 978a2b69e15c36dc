/** The endpoints of all features: the server mounts them, and commands call them in their own process. */
import type { Endpoint } from "#contract/route.ts";
import { systemClock } from "#core/time.ts";
import { automationEndpoints } from "#jobs/automations/endpoints.ts";
import { scheduleEndpoints } from "#jobs/schedules/endpoints.ts";
import { webhookEndpoints } from "#jobs/webhooks/endpoints.ts";
import type { App } from "./app.ts";

export function endpointsOf(app: App): readonly Endpoint[] {
  const { automations, schedules, webhooks } = app;
  return [
    ...scheduleEndpoints(schedules),
    ...automationEndpoints({ automations, clock: systemClock }),
    ...webhookEndpoints(webhooks),
  ];
}
