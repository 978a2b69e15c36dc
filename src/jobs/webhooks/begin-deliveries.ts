/** Turns events into deliveries: selects the webhooks for each event, and begins each delivery in the log. */
import type { Event } from "#events/event.ts";
import { isMeantBy } from "#events/event-pattern.ts";
import type { Webhook } from "#fleet/webhook.ts";
import type { DeliveryLog } from "./delivery-log.ts";

/**
 * Begins the deliveries of these events. Repeating it has no effect.
 * @returns for each webhook the events to send
 */
export async function beginDeliveries(
  events: readonly Event[],
  { log, webhooks }: { readonly log: Pick<DeliveryLog, "begin">; readonly webhooks: readonly Webhook[] },
): Promise<Map<string, string[]>> {
  const toSend = new Map<string, string[]>();
  for (const webhook of webhooks) {
    const wanted = events.filter((event) => wants(webhook, event));
    const begun = await Promise.all(wanted.map((event) => log.begin(webhook.name, event)));
    const open = wanted.filter((_, i) => begun[i] === "pending").map(({ id }) => id);
    if (open.length > 0) toSend.set(webhook.name, open);
  }
  return toSend;
}

/**
 * Whether a webhook receives an event; an event without a profile concerns every account. A webhook never receives events about
 * itself: each failed message would cause another one.
 */
function wants({ name, events, profile }: Webhook, event: Event): boolean {
  const isForAll = profile === undefined || event.profile === "";
  if (!isForAll && event.profile !== profile) return false;
  if (event.type.startsWith("webhook.") && event.fields["webhook"] === name) return false;
  return events.some((pattern) => isMeantBy(pattern, event.type));
}
