/** Opens webhooks: the log of deliveries, their queues, and the operations that the CLI and the HTTP API share. */
import * as routes from "./contract.ts";
import { randomBytes } from "node:crypto";
import { SimfleetError, badCursor, entryNamed } from "#core/errors.ts";
import { dayMs } from "#core/time.ts";
import { reportOf } from "#contract/fields.ts";
import { documentOfEvent } from "#events/contract.ts";
import type { Event } from "#events/event.ts";
import { placeOf } from "#events/feed.ts";
import { webhookSender } from "#events/webhook/webhook.ts";
import { type DeliveryContext, type DeliveryQueues, deliverEvent, deliveryQueues, sendOnce, wordsFor } from "./work.ts";
import { type Delivery, beginDeliveries, DeliveryLog, partsOf } from "./deliveries.ts";
import { type Call, type Endpoint, endpoint } from "#contract/route.ts";
import type { WebhookEndpoint } from "./config.ts";
import type { Incident, Working } from "#engine/queue/job-result.ts";
import { consumeFeed } from "#engine/feed-readers.ts";
import type { Kernel } from "#kernel/kernel.ts";

interface WebhookDeps extends Omit<DeliveryContext, "guard"> {
  readonly queues: DeliveryQueues;
  /** Account of a test message, if the webhook receives events of all accounts. */
  readonly profile: string;
}

export class WebhookService {
  readonly #deps: WebhookDeps;

  constructor(deps: WebhookDeps) {
    this.#deps = deps;
  }

  /** @throws SimfleetError WEBHOOK_NOT_FOUND */
  #requireEndpoint(name: string): WebhookEndpoint {
    const sorted = Object.entries(this.#deps.endpoints).sort(([a], [b]) => (a < b ? -1 : 1));
    return entryNamed(sorted, name, "webhook", "WEBHOOK_NOT_FOUND");
  }

  /** @throws SimfleetError DELIVERY_NOT_FOUND */
  async #deliveryNamed(deliveryId: string): Promise<Delivery> {
    const found = await this.#deps.log.delivery(deliveryId);
    if (found !== undefined) return found;
    throw new SimfleetError("DELIVERY_NOT_FOUND", `There is no delivery ${deliveryId}, or it is no longer kept`);
  }

  /** Only the origin of the address is shown: the rest may be secret. @throws SimfleetError WEBHOOK_NOT_FOUND */
  async show(name: string): Promise<routes.WebhookReport> {
    const { webhook, url } = this.#requireEndpoint(name);
    const [status, pending, [last]] = await Promise.all([
      this.#deps.log.status(name),
      this.#deps.log.pendingCount(name),
      this.#deps.log.newest(name, { limit: 1 }),
    ]);
    const lastDelivery = last && reportOfDelivery(last);
    return reportOf(routes.webhookReport, { ...webhook, ...status, url: new URL(url()).origin, pending, lastDelivery });
  }

  /** All configured webhooks, sorted by name. */
  list(): Promise<routes.WebhookReport[]> {
    return Promise.all(this.#names().map((name) => this.show(name)));
  }

  #names(): readonly string[] {
    return Object.keys(this.#deps.endpoints).sort();
  }

  /** Whether a live process delivers to the webhook. */
  isServed(name: string): Promise<boolean> {
    return this.#deps.queues.isServed(name);
  }

  /**
   * Sends a test message at once, even if the webhook is stopped, and returns the result.
   * @throws SimfleetError WEBHOOK_NOT_FOUND
   */
  async test(name: string): Promise<routes.TestReport> {
    const { clock, profile, sender } = this.#deps;
    const to = this.#requireEndpoint(name);
    const id = `test-${randomBytes(9).toString("hex")}`;
    const about = { profile: to.webhook.profile ?? profile, fields: { webhook: name } };
    const sent = await sendOnce({ id, type: "webhook.test", atMs: clock.wallMs(), ...about }, to, sender);
    return {
      webhook: name,
      messageId: `msg_${id}`,
      accepted: sent.kind === "accepted",
      status: sent.kind === "unanswered" ? null : sent.status,
      reason: sent.kind === "accepted" ? null : wordsFor(sent),
    };
  }

  /**
   * Resumes a stopped webhook: its backlog is sent, events emitted while it was stopped are not.
   * @throws SimfleetError WEBHOOK_NOT_FOUND
   */
  async resume(name: string): Promise<routes.WebhookReport> {
    this.#requireEndpoint(name);
    await this.#deps.log.resume(name);
    return this.show(name);
  }

  /**
   * Deliveries of one webhook or of all configured ones, newest event first.
   * @throws SimfleetError WEBHOOK_NOT_FOUND; USAGE for an invalid cursor
   */
  async deliveries({ webhook, state, limit: pageSize, cursor }: Call<typeof routes.listDeliveries>["query"]) {
    if (webhook !== undefined) this.#requireEndpoint(webhook);
    const after = cursor === undefined ? undefined : partsOf(cursor);
    if (cursor !== undefined && after === undefined) throw badCursor(cursor);
    const limit = pageSize + 1;
    /** Deliveries of one webhook after the cursor, in the combined order of all webhooks: by event, then by name. */
    const readPage = (name: string): Promise<Delivery[]> => {
      const from = after && `${name < after.webhook ? "[" : "("}${placeOf(after.eventId)}`;
      return this.#deps.log.newest(name, { limit, state, from });
    };
    const found = (await Promise.all((webhook === undefined ? this.#names() : [webhook]).map(readPage))).flat();
    found.sort((a, b) => (rankOf(a) < rankOf(b) ? 1 : -1));
    const shown = found.slice(0, pageSize);
    return {
      deliveries: shown.map(reportOfDelivery),
      nextCursor: found.length > shown.length ? (shown.at(-1)?.deliveryId ?? null) : null,
    };
  }

  /** @throws SimfleetError DELIVERY_NOT_FOUND */
  async delivery(deliveryId: string) {
    const found = await this.#deliveryNamed(deliveryId);
    return { ...reportOfDelivery(found), event: documentOfEvent(found.event) };
  }

  /**
   * Sends a delivery again, with the same message id and as many attempts as a new one.
   * @throws SimfleetError DELIVERY_NOT_FOUND; WEBHOOK_NOT_FOUND; WEBHOOK_STOPPED
   */
  async redeliver(deliveryId: string) {
    const { webhook, event } = await this.#deliveryNamed(deliveryId);
    this.#requireEndpoint(webhook);
    if ((await this.#deps.log.status(webhook)).state === "stopped") {
      const message = `${webhook} is stopped: resume it with simfleet webhooks resume ${webhook}`;
      throw new SimfleetError("WEBHOOK_STOPPED", message);
    }
    await this.#deps.log.redeliver(deliveryId);
    await this.#deps.queues.enqueueNow(webhook, event.id);
    return this.delivery(deliveryId);
  }

  endpoints(): readonly Endpoint[] {
    return [
      endpoint(routes.listWebhooks, async () => ({ webhooks: await this.list(), nextCursor: null })),
      endpoint(routes.testWebhook, ({ params }) => this.test(params.name)),
      endpoint(routes.resumeWebhook, ({ params }) => this.resume(params.name)),
      endpoint(routes.listDeliveries, ({ query }) => this.deliveries(query)),
      endpoint(routes.showDelivery, ({ params }) => this.delivery(params.deliveryId)),
      endpoint(routes.redeliver, ({ params }) => this.redeliver(params.deliveryId)),
    ];
  }
}

function rankOf({ webhook, event }: Delivery): string {
  return `${placeOf(event.id)}.${webhook}`;
}

function reportOfDelivery(delivery: Delivery): routes.DeliveryReport {
  const { id: eventId, type: eventType } = delivery.event;
  return reportOf(routes.deliveryReport, { ...delivery, eventId, eventType });
}

/** Messages to one endpoint in progress at once, per process. */
const atOnce = 4;
const restoreAtOnce = 1_000;

type OnIncident = (incident: Incident) => void;

export function openWebhooks(kernel: Kernel, endpoints: Readonly<Record<string, WebhookEndpoint>>) {
  const { config, clock, guard, lifecycle } = kernel;
  const log = new DeliveryLog(kernel, config.retention.deliveryDays * dayMs);
  const queues = deliveryQueues(kernel);
  const sender = webhookSender(kernel);
  lifecycle.onStop("webhooks", () => sender.close());
  const context = { log, sender, clock, guard, endpoints };
  const service = new WebhookService({ ...context, queues, profile: config.profile });

  /** Delivers to a webhook until stopped. Deliveries that are due and have no job are enqueued again. */
  const deliverTo = (webhook: string, onIncident: OnIncident): Promise<Working> => {
    let known: readonly string[] = [];
    /** Reports each problem with the webhook's files once; messages continue with the previous content. */
    const reportFaults = (): void => {
      const faults = endpoints[webhook]?.faults() ?? [];
      for (const fault of faults.filter((one) => !known.includes(one))) {
        onIncident({ message: `messages to ${webhook} continue with the previous content of a file: ${fault}` });
      }
      known = faults;
    };
    const restore = async (): Promise<void> => {
      if ((await log.status(webhook)).state === "stopped") return;
      await queues.enqueue(webhook, await log.due(webhook, restoreAtOnce));
    };
    return queues.consume(webhook, {
      atOnce,
      restore,
      work: (reference, signal) => deliverEvent(reference, context, signal).finally(reportFaults),
      onIncident: ({ message }) => onIncident({ message }),
    });
  };

  /**
   * Turns events into deliveries until the app closes, and delivers them until stopped. It keeps reading without any
   * webhook: one that is configured later receives only events from then on.
   */
  const consume = async (onIncident: OnIncident): Promise<Working[]> => {
    const deliverers = await Promise.all(Object.keys(endpoints).map((webhook) => deliverTo(webhook, onIncident)));
    // May be repeated with the same events: a delivery is started once, and an existing job is not queued again.
    const handle = async (events: readonly Event[]): Promise<void> => {
      for (const { webhook } of Object.values(endpoints)) {
        await queues.enqueue(webhook.name, await beginDeliveries(events, webhook, log));
      }
    };
    const readers = await consumeFeed("webhooks", [{ name: "deliveries", handle }], { ...kernel, onIncident });
    return [...deliverers, ...readers];
  };

  return { service, consume };
}
