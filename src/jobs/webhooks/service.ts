/** Operations on webhooks and their deliveries, shared by the CLI and the HTTP API. */
import * as routes from "./contract.ts";
import { randomBytes } from "node:crypto";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, isoTime } from "#core/time.ts";
import { documentOfEvent } from "#events/contract.ts";
import type { WebhookSender } from "#events/webhook/webhook.ts";
import type { DeliveryDocument, DeliveryReport, TestReport, WebhookReport } from "./contract.ts";
import { type WebhookEndpoint, sendOnce, wordsFor } from "./work.ts";
import type { DeliveryQueues } from "./queue.ts";
import type { DeliveryLog, WebhookStatus } from "./delivery-log.ts";
import { type Delivery, type DeliveryState, partsOf, placeOf } from "./record.ts";
import type { Webhook } from "#fleet/webhook.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";

export interface WebhookDeps {
  readonly log: DeliveryLog;
  readonly queues: DeliveryQueues;
  readonly sender: Pick<WebhookSender, "send">;
  readonly clock: Clock;
  /** Names of the configured webhooks. */
  readonly names: readonly string[];
  readonly endpointOf: (webhook: string) => WebhookEndpoint | undefined;
  /** Account of a test message, if the webhook receives events of all accounts. */
  readonly profile: string;
}

export class WebhookService {
  readonly #deps: WebhookDeps;

  constructor(deps: WebhookDeps) {
    this.#deps = deps;
  }

  /** All configured webhooks, sorted by name. */
  list(): Promise<WebhookReport[]> {
    return Promise.all(this.#deps.names.toSorted().map((name) => this.show(name)));
  }

  /** @throws SimfleetError WEBHOOK_NOT_FOUND */
  async show(name: string): Promise<WebhookReport> {
    const { log } = this.#deps;
    const { webhook, url } = this.#endpoint(name);
    const [status, pending, [last]] = await Promise.all([
      log.status(name),
      log.pendingCount(name),
      log.newest(name, { limit: 1 }),
    ]);
    return reportOfWebhook(webhook, { url, status, pending, last });
  }

  /** Whether a live process delivers to the webhook. */
  isServed(name: string): Promise<boolean> {
    return this.#deps.queues.isServed(name);
  }

  /**
   * Sends a test message at once, even if the webhook is stopped, and returns the result.
   * @throws SimfleetError WEBHOOK_NOT_FOUND
   */
  async test(name: string): Promise<TestReport> {
    const { clock, profile } = this.#deps;
    const receiver = this.#endpoint(name);
    const id = `test-${randomBytes(9).toString("hex")}`;
    const about = { profile: receiver.webhook.profile ?? profile, fields: { webhook: name } };
    const sent = await sendOnce({ id, type: "webhook.test", atMs: clock.wallMs(), ...about }, receiver, this.#deps);
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
  async resume(name: string): Promise<WebhookReport> {
    this.#endpoint(name);
    await this.#deps.log.resume(name);
    return this.show(name);
  }

  /**
   * Deliveries of one webhook or of all configured ones, newest event first.
   * @param page `cursor` comes from the previous page
   * @throws SimfleetError WEBHOOK_NOT_FOUND; USAGE for an invalid cursor
   */
  async deliveries(
    query: { readonly webhook?: string | undefined; readonly state?: DeliveryState | undefined },
    page: { readonly limit: number; readonly cursor?: string | undefined },
  ): Promise<{ deliveries: DeliveryReport[]; nextCursor: string | null }> {
    const { state, webhook } = query;
    if (webhook !== undefined) this.#endpoint(webhook);
    const after = page.cursor === undefined ? undefined : this.#cursor(page.cursor);
    const pages = (webhook === undefined ? this.#deps.names : [webhook]).map((name) =>
      this.#page(name, { limit: page.limit + 1, state, after }),
    );
    const found = (await Promise.all(pages)).flat().sort((a, b) => (rankOf(a) < rankOf(b) ? 1 : -1));
    const shown = found.slice(0, page.limit);
    return {
      deliveries: shown.map(reportOfDelivery),
      nextCursor: found.length > shown.length ? (shown.at(-1)?.deliveryId ?? null) : null,
    };
  }

  /** The page after a cursor in the combined order of all webhooks: by event, then by name. */
  async #page(
    name: string,
    { limit, state, after }: { limit: number; state: DeliveryState | undefined; after: Cursor | undefined },
  ): Promise<Delivery[]> {
    const { log } = this.#deps;
    if (after === undefined) return log.newest(name, { limit, state });
    const older = await log.newest(name, { limit, state, beforeEventId: after.eventId });
    if (name >= after.webhook) return older;
    const same = await log.delivery(`${name}.${after.eventId}`);
    return same === undefined || (state !== undefined && same.state !== state) ? older : [same, ...older];
  }

  /** @throws SimfleetError DELIVERY_NOT_FOUND */
  async delivery(deliveryId: string): Promise<DeliveryDocument> {
    const found = await this.#deps.log.delivery(deliveryId);
    if (found === undefined) throw noDelivery(deliveryId);
    return { ...reportOfDelivery(found), event: documentOfEvent(found.event) };
  }

  /**
   * Sends a delivery again, with the same message id and as many attempts as a new one.
   * @throws SimfleetError DELIVERY_NOT_FOUND; WEBHOOK_NOT_FOUND; WEBHOOK_STOPPED
   */
  async redeliver(deliveryId: string): Promise<DeliveryDocument> {
    const { log, queues } = this.#deps;
    const parts = partsOf(deliveryId);
    if (parts === undefined || (await log.delivery(deliveryId)) === undefined) throw noDelivery(deliveryId);
    const { webhook, eventId } = parts;
    this.#endpoint(webhook);
    if ((await log.status(webhook)).state === "stopped") {
      const message = `${webhook} is stopped: resume it with simfleet webhooks resume ${webhook}`;
      throw new SimfleetError("WEBHOOK_STOPPED", message);
    }
    if ((await log.redeliver(deliveryId)) === "gone") throw noDelivery(deliveryId);
    await queues.enqueueNow(webhook, eventId);
    return this.delivery(deliveryId);
  }

  #cursor(text: string): Cursor {
    const cursor = partsOf(text);
    if (cursor !== undefined) return cursor;
    throw new SimfleetError(
      "USAGE",
      `${JSON.stringify(text)} is not a valid cursor: use the nextCursor of the previous page`,
    );
  }

  #endpoint(name: string): WebhookEndpoint {
    const found = this.#deps.endpointOf(name);
    if (found !== undefined) return found;
    const known = this.#deps.names.toSorted().join(", ") || "none";
    throw new SimfleetError("WEBHOOK_NOT_FOUND", `There is no webhook ${name}; configured are: ${known}`);
  }
}

interface Cursor {
  readonly webhook: string;
  readonly eventId: string;
}

function rankOf({ webhook, event }: Delivery): string {
  return `${placeOf(event.id)}.${webhook}`;
}

function noDelivery(deliveryId: string): SimfleetError {
  return new SimfleetError("DELIVERY_NOT_FOUND", `There is no delivery ${deliveryId}, or it is no longer kept`);
}

// Reports on webhooks and deliveries, for display and JSON. Only the origin of an address is shown: the rest may be secret.

function reportOfDelivery(delivery: Delivery): DeliveryReport {
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

function reportOfWebhook(
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

// What answers the routes of webhooks.

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
