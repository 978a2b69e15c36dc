/** Reports on webhooks and deliveries, for display and JSON. Only the origin of an address is shown: the rest may be secret. */
import { isoTime } from "#core/time.ts";
import type { Webhook } from "#fleet/webhook.ts";
import type { DeliveryReport, WebhookReport } from "./contract.ts";
import type { WebhookStatus } from "./delivery-log.ts";
import type { Delivery } from "./record.ts";

export function reportOfDelivery(delivery: Delivery): DeliveryReport {
  const { deliveryId, webhook, event, state, attempts, createdAtMs, finishedAtMs, nextAttemptAtMs } = delivery;
  return {
    deliveryId,
    webhook,
    eventId: event.id,
    eventType: event.type,
    state,
    attempts,
    lastStatus: delivery.lastStatus ?? null,
    lastReason: delivery.lastReason ?? null,
    createdAt: new Date(createdAtMs).toISOString(),
    finishedAt: isoTime(finishedAtMs),
    nextAttemptAt: isoTime(nextAttemptAtMs),
  };
}

export function reportOfWebhook(
  webhook: Webhook,
  now: { url: string; status: WebhookStatus; pending: number; last: Delivery | undefined },
): WebhookReport {
  const { name, events, profile, format } = webhook;
  return {
    name,
    url: new URL(now.url).origin,
    events,
    profile: profile ?? null,
    format,
    state: now.status.state,
    reason: now.status.reason ?? null,
    pending: now.pending,
    dropped: now.status.dropped,
    lastDelivery: now.last === undefined ? null : reportOfDelivery(now.last),
  };
}
