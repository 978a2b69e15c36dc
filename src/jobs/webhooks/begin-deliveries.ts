/** From events to deliveries: which webhook wants which event, and the beginning of each delivery in the log. */
import type { Event } from "#events/event.ts";
import { isMeantBy } from "#events/event-pattern.ts";
import type { Webhook } from "#fleet/webhook.ts";
import type { DeliveryLog } from "./delivery-log.ts";

/**
 * Begins what is to be delivered of these events. Doing it again begins nothing twice.
 * @returns for each webhook the events that are to be sent to it
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

/** Whether a webhook is told of an event; without a profile an event is about every account. Of itself it never is: each message that fails would make another one. */
function wants({ name, events, profile }: Webhook, event: Event): boolean {
  const isForAll = profile === undefined || event.profile === "";
  if (!isForAll && event.profile !== profile) return false;
  if (event.type.startsWith("webhook.") && event.fields["webhook"] === name) return false;
  return events.some((pattern) => isMeantBy(pattern, event.type));
}
