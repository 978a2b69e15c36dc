/** What answers the routes of webhooks. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import * as routes from "./contract.ts";
import type { WebhookService } from "./service.ts";

export function webhookEndpoints(webhooks: WebhookService): readonly Endpoint[] {
  return [
    endpoint(routes.listWebhooks, async () => ({ webhooks: await webhooks.list(), nextCursor: null })),
    endpoint(routes.testWebhook, ({ params }) => webhooks.test(params.name)),
    endpoint(routes.resumeWebhook, ({ params }) => webhooks.resume(params.name)),
    endpoint(routes.listDeliveries, ({ query: { limit, cursor, webhook, state } }) =>
      webhooks.deliveries({ webhook, state }, { limit, cursor }),
    ),
    endpoint(routes.showDelivery, ({ params }) => webhooks.delivery(params.deliveryId)),
    endpoint(routes.redeliver, ({ params }) => webhooks.redeliver(params.deliveryId)),
  ];
}
