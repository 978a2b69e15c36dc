/** The part of the hall that builds what webhooks need: the log of deliveries, their queues, the sender and the desk. */
import type { Redis } from "ioredis";
import type { Config } from "#config/config.ts";
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { FeedConsumer } from "#events/consumer.ts";
import type { Event } from "#events/event.ts";
import type { Feed } from "#events/feed.ts";
import { WebhookSender } from "#events/webhook.ts";
import { beginDeliveries } from "#jobs/begin-deliveries.ts";
import { type DeliveryContext, deliverEvent, type Endpoint } from "#jobs/deliver-event.ts";
import type { Trouble, Working } from "#queue/consumer.ts";
import { DeliveryQueues } from "#queue/deliveries.ts";
import type { ProfileJobsOptions } from "#queue/profile-jobs.ts";
import { WebhookDesk } from "#runs/webhook-desk.ts";
import { DeliveryLog } from "#store/delivery-log.ts";

/** Under this name the place in the feed is saved. */
const consumerName = "deliveries";

interface Hall {
  readonly config: Config;
  readonly clock: Clock;
  readonly redis: Redis;
  readonly queueHouse: ProfileJobsOptions;
  readonly lifecycle: Lifecycle;
  readonly feed: Feed;
  readonly userAgent: string;
}

export class Webhooks {
  readonly desk: WebhookDesk;
  readonly #hall: Hall;
  readonly #log: DeliveryLog;
  readonly #queues: DeliveryQueues;
  readonly #context: DeliveryContext;
  /** Faults of files that were told of, by webhook. */
  readonly #told = new Map<string, readonly string[]>();

  constructor(hall: Hall) {
    const { config, clock, redis, queueHouse, lifecycle, userAgent } = hall;
    this.#hall = hall;
    this.#log = new DeliveryLog({ redis, keys: queueHouse.keys, clock, bounds: config.events });
    this.#queues = new DeliveryQueues(queueHouse);
    lifecycle.onStop("delivery queues", () => this.#queues.close());
    const sender = new WebhookSender({ clock, userAgent });
    lifecycle.onStop("webhooks", () => sender.close());
    const endpointOf = (name: string): Endpoint | undefined => this.#endpointOf(name);
    this.#context = { log: this.#log, sender, clock, endpointOf };
    this.desk = new WebhookDesk({
      ...this.#context,
      ...{ queues: this.#queues, names: Object.keys(config.webhooks), profile: config.profile },
    });
  }

  /**
   * Turns events into deliveries and delivers until it is stopped. It reads on without a webhook as well: one that is
   * configured later is told of what happens from then on.
   */
  async consume(onTrouble: (trouble: Trouble) => void): Promise<Working> {
    const deliverers = await Promise.all(
      Object.keys(this.#hall.config.webhooks).map((webhook) => this.#deliverTo(webhook, onTrouble)),
    );
    const { clock, redis, feed, queueHouse } = this.#hall;
    const reader = await FeedConsumer.start({
      ...{ name: consumerName, feed, redis, clock, keys: queueHouse.keys, connect: queueHouse.connect },
      handle: (events) => this.#begin(events),
      onTrouble: (message) => onTrouble({ message }),
    });
    return {
      isMoving: async (withinMs) => (await Promise.all(deliverers.map((one) => one.isMoving(withinMs)))).every(Boolean),
      stop: async () => {
        await reader.stop();
        await Promise.all(deliverers.map((one) => one.stop()));
      },
    };
  }

  /** May come again with the same events: a delivery begins once, and a job that is there is not put in twice. */
  async #begin(events: readonly Event[]): Promise<void> {
    const webhooks = Object.values(this.#hall.config.webhooks).map(({ webhook }) => webhook);
    const begun = await beginDeliveries(events, { log: this.#log, webhooks });
    for (const [webhook, eventIds] of begun) await this.#queues.enqueue(webhook, eventIds);
  }

  #deliverTo(webhook: string, onTrouble: (trouble: Trouble) => void): Promise<Working> {
    return this.#queues.consume(webhook, {
      onTrouble,
      work: async (reference, signal) => {
        const verdict = await deliverEvent(reference, this.#context, signal);
        this.#tellFaults(webhook, onTrouble);
        return verdict;
      },
      due: async (name, most) =>
        (await this.#log.standing(name)).state === "stopped" ? [] : this.#log.due(name, most),
    });
  }

  /** Says once of each fault of a webhook's files that messages go on with what they held before. */
  #tellFaults(webhook: string, onTrouble: (trouble: Trouble) => void): void {
    const faults = this.#hall.config.webhooks[webhook]?.faults() ?? [];
    const told = this.#told.get(webhook) ?? [];
    this.#told.set(webhook, faults);
    for (const fault of faults.filter((one) => !told.includes(one))) {
      onTrouble({ message: `messages to ${webhook} go on with what a file held before: ${fault}` });
    }
  }

  #endpointOf(name: string): Endpoint | undefined {
    const { webhooks } = this.#hall.config;
    const found = Object.hasOwn(webhooks, name) ? webhooks[name] : undefined;
    return found && { webhook: found.webhook, url: found.url(), secrets: found.secrets() };
  }
}
