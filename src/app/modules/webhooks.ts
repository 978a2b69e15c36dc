/**
 * The part of the composition root that builds webhooks: the log of deliveries, their queues, the sender and the
 * service.
 */
import type { Redis } from "ioredis";
import type { Config } from "#config/config.ts";
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { FeedConsumer } from "#events/consumer.ts";
import type { Event } from "#events/event.ts";
import type { Feed } from "#events/feed.ts";
import { WebhookSender } from "#events/webhook/webhook.ts";
import { beginDeliveries } from "#jobs/webhooks/begin-deliveries.ts";
import { type DeliveryContext, deliverEvent, type Endpoint } from "#jobs/webhooks/work.ts";
import type { PoisonGuard } from "#engine/poison-guard.ts";
import type { Incident, Working } from "#engine/queue/working.ts";
import { type DeliveryQueues, deliveryQueues } from "#jobs/webhooks/queue.ts";
import type { ProfileJobsOptions } from "#engine/queue/profile-queue.ts";
import { WebhookService } from "#jobs/webhooks/service.ts";
import { DeliveryLog } from "#jobs/webhooks/delivery-log.ts";

/** The position in the feed is saved under this name. */
const consumerName = "deliveries";

interface AppDeps {
  readonly config: Config;
  readonly clock: Clock;
  readonly redis: Redis;
  readonly queueDeps: ProfileJobsOptions;
  readonly lifecycle: Lifecycle;
  readonly feed: Feed;
  readonly userAgent: string;
  readonly guard: Pick<PoisonGuard, "run">;
}

export class Webhooks {
  readonly service: WebhookService;
  readonly #appDeps: AppDeps;
  readonly #log: DeliveryLog;
  readonly #queues: DeliveryQueues;
  readonly #context: DeliveryContext;
  /** Reported problems with files, by webhook. */
  readonly #reported = new Map<string, readonly string[]>();

  constructor(appDeps: AppDeps) {
    const { config, clock, redis, queueDeps, lifecycle, userAgent, guard } = appDeps;
    this.#appDeps = appDeps;
    this.#log = new DeliveryLog({
      redis,
      keys: queueDeps.keys,
      clock,
      bounds: config.events,
      keepMs: config.retention.deliveriesMs,
    });
    this.#queues = deliveryQueues(queueDeps);
    lifecycle.onStop("delivery queues", () => this.#queues.close());
    const sender = new WebhookSender({ clock, userAgent });
    lifecycle.onStop("webhooks", () => sender.close());
    const endpointOf = (name: string): Endpoint | undefined => this.#endpointOf(name);
    this.#context = { log: this.#log, sender, clock, guard, endpointOf };
    this.service = new WebhookService({
      ...this.#context,
      queues: this.#queues,
      names: Object.keys(config.webhooks),
      profile: config.profile,
    });
  }

  /**
   * Turns events into deliveries and delivers them until stopped. It keeps reading without any webhook: one that is
   * configured later receives only events from then on.
   */
  async consume(onIncident: (incident: Incident) => void): Promise<Working> {
    const deliverers = await Promise.all(
      Object.keys(this.#appDeps.config.webhooks).map((webhook) => this.#deliverTo(webhook, onIncident)),
    );
    const { clock, redis, feed, queueDeps } = this.#appDeps;
    const reader = await FeedConsumer.start({
      name: consumerName,
      feed,
      redis,
      clock,
      keys: queueDeps.keys,
      connect: queueDeps.connect,
      handle: (events) => this.#begin(events),
      onIncident: (message) => onIncident({ message }),
    });
    return {
      isMoving: async (withinMs) => (await Promise.all(deliverers.map((one) => one.isMoving(withinMs)))).every(Boolean),
      restart: async () => {
        await Promise.all(deliverers.map((one) => one.restart()));
      },
      stop: async () => {
        await reader.stop();
        await Promise.all(deliverers.map((one) => one.stop()));
      },
    };
  }

  /** May be repeated with the same events: a delivery is created once, and an existing job is not queued again. */
  async #begin(events: readonly Event[]): Promise<void> {
    const webhooks = Object.values(this.#appDeps.config.webhooks).map(({ webhook }) => webhook);
    const begun = await beginDeliveries(events, { log: this.#log, webhooks });
    for (const [webhook, eventIds] of begun) await this.#queues.enqueue(webhook, eventIds);
  }

  #deliverTo(webhook: string, onIncident: (incident: Incident) => void): Promise<Working> {
    return this.#queues.consume(webhook, {
      onIncident,
      work: async (reference, signal) => {
        const result = await deliverEvent(reference, this.#context, signal);
        this.#reportFaults(webhook, onIncident);
        return result;
      },
      due: async (name, max) => ((await this.#log.status(name)).state === "stopped" ? [] : this.#log.due(name, max)),
    });
  }

  /** Reports each problem with a webhook's files once; messages continue with the previous content. */
  #reportFaults(webhook: string, onIncident: (incident: Incident) => void): void {
    const faults = this.#appDeps.config.webhooks[webhook]?.faults() ?? [];
    const reported = this.#reported.get(webhook) ?? [];
    this.#reported.set(webhook, faults);
    for (const fault of faults.filter((one) => !reported.includes(one))) {
      onIncident({ message: `messages to ${webhook} continue with the previous content of a file: ${fault}` });
    }
  }

  #endpointOf(name: string): Endpoint | undefined {
    const { webhooks } = this.#appDeps.config;
    const found = Object.hasOwn(webhooks, name) ? webhooks[name] : undefined;
    return found && { webhook: found.webhook, url: found.url(), secrets: found.secrets() };
  }
}
