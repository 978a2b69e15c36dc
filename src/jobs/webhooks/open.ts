/** Opens webhooks: the log of deliveries, their queues, the sender and the service. */
import type { PoisonGuard } from "#engine/poison-guard.ts";
import type { Incident, Working } from "#engine/queue/job-result.ts";
import { consumeFeed } from "#events/consumer.ts";
import { webhookSender } from "#events/webhook/webhook.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { DeliveryLog, beginDeliveries } from "./deliveries.ts";
import { WebhookService } from "./service.ts";
import { type WebhookEndpoint, deliverEvent, deliveryQueues } from "./work.ts";

type OnIncident = (incident: Incident) => void;

/** The part of the kernel that webhooks use. */
export type WebhookKernel = Pick<
  Kernel,
  "config" | "clock" | "redis" | "keys" | "bounds" | "connect" | "workerRegistry" | "lifecycle" | "feed" | "userAgent"
> & { readonly guard: Pick<PoisonGuard, "run"> };

export function openWebhooks(kernel: WebhookKernel) {
  const { config, clock, guard, lifecycle } = kernel;
  const { webhooks, profile } = config;
  const log = new DeliveryLog(kernel, { keepMs: config.retention.deliveriesMs });
  const queues = deliveryQueues(kernel);
  lifecycle.onStop("delivery queues", () => queues.close());
  const sender = webhookSender(kernel);
  lifecycle.onStop("webhooks", () => sender.close());
  const endpointOf = (name: string): WebhookEndpoint | undefined => {
    const found = Object.hasOwn(webhooks, name) ? webhooks[name] : undefined;
    return found && { webhook: found.webhook, url: found.url(), secrets: found.secrets() };
  };
  const context = { log, sender, clock, guard, endpointOf };
  const service = new WebhookService({ ...context, queues, names: Object.keys(webhooks), profile });

  const deliverTo = (webhook: string, onIncident: OnIncident): Promise<Working> => {
    let known: readonly string[] = [];
    /** Reports each problem with the webhook's files once; messages continue with the previous content. */
    const reportFaults = (): void => {
      const faults = webhooks[webhook]?.faults() ?? [];
      for (const fault of faults.filter((one) => !known.includes(one))) {
        onIncident({ message: `messages to ${webhook} continue with the previous content of a file: ${fault}` });
      }
      known = faults;
    };
    return queues.consume(webhook, {
      onIncident,
      work: (reference, signal) => deliverEvent(reference, context, signal).finally(reportFaults),
      due: async (atMost) => ((await log.status(webhook)).state === "stopped" ? [] : log.due(webhook, atMost)),
    });
  };

  /**
   * Turns events into deliveries until the app closes, and delivers them until stopped. It keeps reading without any
   * webhook: one that is configured later receives only events from then on.
   */
  const consume = async (onIncident: OnIncident): Promise<Working[]> => {
    const deliverers = await Promise.all(Object.keys(webhooks).map((webhook) => deliverTo(webhook, onIncident)));
    const reader = await consumeFeed({
      ...kernel,
      name: "deliveries",
      // May be repeated with the same events: a delivery is started once, and an existing job is not queued again.
      handle: async (events) => {
        const all = Object.values(webhooks).map(({ webhook }) => webhook);
        for (const [webhook, ids] of await beginDeliveries(events, { log, webhooks: all })) {
          await queues.enqueue(webhook, ids);
        }
      },
      onIncident: (message) => onIncident({ message }),
    });
    lifecycle.onStop("events for webhooks", () => reader.stop());
    return deliverers;
  };

  return { service, consume };
}
