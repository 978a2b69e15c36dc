/** Webhooks with a log, an event stream, a stopped clock, and a sender with predefined responses. */
import { Lifecycle } from "#core/process/lifecycle.ts";
import type { Secret } from "#core/secrets/secret.ts";
import { dayMs, systemClock } from "#core/time.ts";
import type { Event, EventType } from "#events/event.ts";
import { Feed, placeOf } from "#events/feed.ts";
import type { Delivery as Sent, WebhookMessage } from "#events/webhook/webhook.ts";
import type { Webhook, WebhookEndpoint } from "#jobs/webhooks/config.ts";
import { type Delivery, DeliveryLog, beginDeliveries, deliveryKeys } from "#jobs/webhooks/deliveries.ts";
import { type DeliveryContext, deliverEvent } from "#jobs/webhooks/work.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import type { TestRedis } from "../../support/redis.ts";
import type { Around } from "../engine/crashes.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { noGuard } from "../../support/no-guard.ts";

export const beganAtMs = 1_790_000_000_000;
const keptMs = 3 * dayMs;

export function webhookOf(name: string, more: Partial<Webhook> = {}): Webhook {
  const usual = { events: ["*"], profile: undefined, allowPrivate: false, timeoutMs: 15_000 };
  return { name, format: "standard", ...usual, ...more };
}

export function endpointsOf(webhooks: readonly Webhook[], urlOf: (name: string) => string, secrets: Secret[] = []) {
  const endpointOf = (webhook: Webhook): WebhookEndpoint => {
    return { webhook, url: () => urlOf(webhook.name), secrets: () => secrets, faults: () => [] };
  };
  return Object.fromEntries(webhooks.map((webhook) => [webhook.name, endpointOf(webhook)]));
}

/** What the webhooks of a worker use. */
export function webhookKernel({ redis, keys, connect }: Pick<Kernel, "redis" | "keys" | "connect">): Kernel {
  const collaborators = { redis, keys, clock: systemClock, bounds: keptBounds };
  return {
    ...collaborators,
    config: { events: keptBounds, retention: { deliveryDays: 3 }, profile: "default" },
    connect,
    lifecycle: new Lifecycle(),
    feed: new Feed(collaborators),
    guard: noGuard,
    userAgent: "simfleet/test",
    workerRegistry: openWorkerRegistry(collaborators),
  } as unknown as Kernel;
}

export class DeliveryDeps {
  readonly log: DeliveryLog;
  readonly feed: Feed;
  readonly sent: WebhookMessage[] = [];
  readonly webhooks: readonly Webhook[];
  nowMs = beganAtMs;
  answers: (Sent | number)[] = [];
  /** Over what an attempt uses. */
  change: (context: DeliveryContext) => DeliveryContext = (context) => context;
  readonly #context: DeliveryContext;
  readonly #place: Pick<TestRedis, "redis" | "keys">;

  constructor(place: Pick<TestRedis, "redis" | "keys">, webhooks: readonly Webhook[], max?: number) {
    const clock = { ...systemClock, wallMs: () => this.nowMs };
    this.webhooks = webhooks;
    this.#place = place;
    this.feed = new Feed({ ...place, clock, bounds: keptBounds });
    this.log = new DeliveryLog({ ...place, clock, bounds: keptBounds }, keptMs, max);
    this.#context = {
      log: this.log,
      clock,
      guard: noGuard,
      sender: { send: (message) => Promise.resolve(this.#answer(message)) },
      endpoints: endpointsOf(webhooks, (name) => `https://${name}.example/`),
    };
  }

  #answer(message: WebhookMessage): Sent {
    this.sent.push(message);
    const answer = this.answers.shift() ?? 204;
    if (typeof answer !== "number") return answer;
    if (answer < 300) return { kind: "accepted", status: answer };
    return { kind: "refused", status: answer, isFinal: answer < 500, retryAfterMs: undefined };
  }

  /** Starts the deliveries of events. @returns webhook to events that are to be sent */
  begin(...events: readonly Event[]): Promise<Map<string, string[]>> {
    return beginAll(events, this);
  }

  /** One attempt of a delivery. */
  attempt(webhook: string, eventId: string, signal = new AbortController().signal): Promise<WorkResult> {
    return deliverEvent({ webhook, eventId }, this.change(this.#context), signal);
  }

  /** A process that works with the same webhooks. @param around wraps what it uses */
  process(around: Around): Pick<DeliveryDeps, "begin"> & {
    readonly attempt: (webhook: string, eventId: string) => Promise<WorkResult>;
  } {
    const { clock, sender } = this.#context;
    const place = { redis: around("redis", this.#place.redis), keys: this.#place.keys };
    const log = new DeliveryLog({ ...place, clock, bounds: keptBounds }, keptMs);
    const context = { ...this.#context, log, sender: around("sender", sender) };
    return {
      begin: (...events) => beginAll(events, { log, webhooks: this.webhooks }),
      attempt: (webhook, eventId) => deliverEvent({ webhook, eventId }, context, new AbortController().signal),
    };
  }

  async delivery(webhook: string, eventId: string): Promise<Delivery> {
    const found = await this.log.delivery(`${webhook}.${eventId}`);
    if (found === undefined) throw new Error("there is no such delivery");
    return found;
  }

  /** Where the record of a delivery lies. */
  keyOf(webhook: string, eventId: string): string {
    return deliveryKeys(this.#place.keys, webhook).delivery(placeOf(eventId));
  }

  /** Events about webhooks in the feed, oldest first. */
  async reported(): Promise<unknown[]> {
    const { events } = await this.feed.newest({ types: ["webhook.failed", "webhook.stopped"] }, { limit: 1_000 });
    return events.toReversed().map(({ type, fields }) => ({ type, ...fields }));
  }
}

export function eventOf(n: number, more: Partial<Event> & { type?: EventType } = {}): Event {
  const usual = { id: `${beganAtMs}-${n}`, type: "run.completed", atMs: beganAtMs, profile: "default" } as const;
  return { ...usual, fields: { run: `r-${n}` }, ...more };
}

async function beginAll(events: readonly Event[], { log, webhooks }: Pick<DeliveryDeps, "log" | "webhooks">) {
  const begun = webhooks.map(async (one) => [one.name, await beginDeliveries(events, one, log)] as const);
  return new Map((await Promise.all(begun)).filter(([, ids]) => ids.length > 0));
}
