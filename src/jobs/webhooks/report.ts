/** Reports on webhooks and deliveries, for display and JSON. Only the origin of an address is shown: the rest may be secret. */
import { isoTime } from "#core/time.ts";
import type { Event } from "#events/event.ts";
import type { Webhook } from "#fleet/webhook.ts";
import type { WebhookStatus } from "./delivery-log.ts";
import type { Delivery, DeliveryState } from "./delivery-record.ts";

/** An event in lists and streams. */
export interface EventDocument {
  readonly id: string;
  readonly type: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly profile: string;
  readonly fields: Readonly<Record<string, string>>;
}

export interface DeliveryReport {
  readonly deliveryId: string;
  readonly webhook: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** HTTP status of the last attempt. */
  readonly lastStatus: number | null;
  readonly lastReason: string | null;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  readonly finishedAt: string | null;
  readonly nextAttemptAt: string | null;
}

/** A delivery with its event. */
export interface DeliveryDocument extends DeliveryReport {
  readonly event: EventDocument;
}

export interface WebhookReport {
  readonly name: string;
  /** Scheme and host of its address. */
  readonly url: string;
  readonly events: readonly string[];
  readonly profile: string | null;
  readonly format: Webhook["format"];
  readonly state: WebhookStatus["state"];
  /** Why it is stopped. */
  readonly reason: string | null;
  /** Pending deliveries. */
  readonly pending: number;
  /** Total number of pending deliveries that were dropped to make room for newer ones. */
  readonly dropped: number;
  readonly lastDelivery: DeliveryReport | null;
}

/** Result of a test message. */
export interface TestReport {
  readonly webhook: string;
  readonly messageId: string;
  readonly accepted: boolean;
  readonly status: number | null;
  readonly reason: string | null;
}

export function documentOfEvent({ id, type, atMs, profile, fields }: Event): EventDocument {
  return { id, type, at: new Date(atMs).toISOString(), profile, fields };
}

export function reportOfDelivery(delivery: Delivery): DeliveryReport {
  const { deliveryId, webhook, event, state, attempts, createdAtMs, finishedAtMs, nextAttemptAtMs } = delivery;
  return {
    ...{ deliveryId, webhook, eventId: event.id, eventType: event.type, state, attempts },
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
    ...{ name, url: new URL(now.url).origin, events, profile: profile ?? null, format },
    ...{ state: now.status.state, reason: now.status.reason ?? null, pending: now.pending },
    dropped: now.status.dropped,
    lastDelivery: now.last === undefined ? null : reportOfDelivery(now.last),
  };
}
