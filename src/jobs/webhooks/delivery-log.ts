/**
 * The store of deliveries: one record per event and webhook, which begins once and ends once, even after crashes. The queue
 * only triggers attempts; lost jobs are restored from this log. Transitions:
 *   pending -> delivered   the receiver has accepted it
 *   pending -> failed      all attempts failed, or the receiver wants no more messages (the webhook is stopped then)
 *   delivered | failed -> pending   a user sends it again
 * Records are kept for a limited time and up to a number per webhook; the oldest are removed first.
 */
import type { Redis } from "ioredis";
import type { Clock } from "#core/time.ts";
import { type Event, isMeantBy } from "#events/event.ts";
import { type FeedBounds, emitScriptPart } from "#events/feed.ts";
import { type MoveCondition, moveScript } from "#engine/move-record.ts";
import { type StateStore, type Update, stateStore, storedRecord } from "#engine/record.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import {
  type Delivery,
  type DeliveryState,
  deliveryFields,
  deliveryIdOf,
  eventIdAt,
  newDelivery,
  partsOf,
  placeOf,
} from "./record.ts";
import type { Webhook } from "#fleet/webhook.ts";

const beginScript = Script.load(emitScriptPart, new URL("./begin-delivery.lua", import.meta.url));
const keepPending = moveScript(new URL("./keep-pending.lua", import.meta.url));

/** Delivery attempts span more than a day: the record lives longer, however short events are kept. */
const minKeptMs = 3 * 86_400_000;
const defaultMax = 10_000;
const readAtOnce = 200;

/** Result of one attempt. */
export interface TryEnd {
  /** `stopped`: the delivery has failed, and the receiver wants no more messages. */
  readonly kind: "delivered" | "again" | "failed" | "stopped";
  readonly status?: number | undefined;
  /** Why it was not delivered. */
  readonly reason?: string | undefined;
  /** Set with `again`. */
  readonly nextAttemptAtMs?: number | undefined;
}

const stateAfter = { delivered: "delivered", again: "pending", failed: "failed", stopped: "failed" } as const;

/** Whether a webhook is active or stopped. */
export interface WebhookStatus {
  readonly state: "active" | "stopped";
  readonly reason: string | undefined;
  readonly stoppedAtMs: number | undefined;
  /** Number of pending deliveries that were dropped to make room for newer ones. */
  readonly dropped: number;
}

/** The keys of a webhook. */
export function deliveryKeys(keys: Keys, webhook: string) {
  return {
    /** Hash: whether it is stopped, and why; number of dropped deliveries. */
    webhook: keys.of("webhook", webhook),
    /** Sorted set with equal scores, so sorted by member: places of its deliveries, oldest first. */
    deliveries: keys.of("webhook", webhook, "deliveries"),
    /** Sorted set: places of pending deliveries by the time of their next attempt. */
    pending: keys.of("webhook", webhook, "pending"),
    /** Hash: one delivery. Without a place, the common prefix. */
    delivery: (place = ""): string => keys.of("webhook", webhook, "delivery", place),
  };
}

export class DeliveryLog {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #bounds: FeedBounds;
  readonly #max: number;
  readonly #keptMs: number;
  readonly #records: StateStore<Delivery>;

  /**
   * @param options `max`: maximum number of deliveries kept per webhook, 10,000 by default; `keepMs`: how long they are
   *   kept, as long as events by default, and three days at least
   */
  constructor(options: { redis: Redis; keys: Keys; clock: Clock; bounds: FeedBounds; max?: number; keepMs?: number }) {
    this.#redis = options.redis;
    this.#keys = options.keys;
    this.#clock = options.clock;
    this.#bounds = options.bounds;
    this.#max = options.max ?? defaultMax;
    this.#keptMs = Math.max(minKeptMs, Math.round(options.keepMs ?? options.bounds.keepMs));
    this.#records = stateStore(deliveryFields, options, (deliveryId) => {
      const { webhook = "", eventId = "" } = partsOf(deliveryId) ?? {};
      return deliveryKeys(options.keys, webhook).delivery(placeOf(eventId));
    });
  }

  /** Begins to deliver an event. @returns `pending` also if it was begun before and has not ended */
  async begin(webhook: string, event: Event): Promise<"pending" | "over" | "stopped"> {
    const nowMs = this.#clock.wallMs();
    const oldest = placeOf(`${Math.max(0, Math.floor(nowMs - this.#keptMs))}-0`);
    const keys = [
      deliveryKeys(this.#keys, webhook).webhook,
      deliveryKeys(this.#keys, webhook).deliveries,
      deliveryKeys(this.#keys, webhook).pending,
      deliveryKeys(this.#keys, webhook).delivery(),
      this.#keys.events(),
    ];
    return (await beginScript.run(this.#redis, keys, [
      this.#bounds.maxEvents,
      placeOf(event.id),
      oldest,
      this.#max,
      this.#keptMs,
      nowMs,
      ...storedRecord(newDelivery(webhook, event, nowMs)),
    ])) as "pending" | "over" | "stopped";
  }

  async delivery(deliveryId: string): Promise<Delivery | undefined> {
    return partsOf(deliveryId) && this.#records.get(deliveryId);
  }

  /** Records an attempt. @returns `over` if the delivery had ended before */
  async noteTry({ deliveryId, profile }: Delivery, end: TryEnd): Promise<"noted" | "over"> {
    const noted = await this.#records.update({ name: deliveryId, profile }, (delivery) =>
      delivery?.state === "pending" ? this.#afterTry(delivery, end) : undefined,
    );
    return noted === undefined ? "over" : "noted";
  }

  #afterTry(delivery: Delivery, { kind, status, reason, nextAttemptAtMs }: TryEnd): Update<Delivery> {
    const { deliveryId, webhook, event, attempts, tries } = delivery;
    const fields = { webhook, delivery: deliveryId, event: event.type, reason };
    // A message about a webhook is not reported: that would loop.
    const isReported = kind === "failed" && !event.type.startsWith("webhook.");
    return {
      change: {
        state: stateAfter[kind],
        attempts: attempts + 1,
        tries: tries + 1,
        lastStatus: status,
        lastReason: reason,
        nextAttemptAtMs,
        scheduledAtMs: kind === "again" ? this.#clock.wallMs() : undefined,
        finishedAtMs: kind === "again" ? undefined : this.#clock.wallMs(),
      },
      events: isReported ? [{ type: "webhook.failed", fields }] : [],
      condition: this.#pending(delivery, { nextAttemptAtMs, ...(kind === "stopped" && { stop: fields }) }),
    };
  }

  /** Sends a delivery again. @returns `gone` if it is no longer stored */
  async redeliver(deliveryId: string): Promise<"pending" | "gone"> {
    if (partsOf(deliveryId) === undefined) return "gone";
    const nextAttemptAtMs = this.#clock.wallMs();
    const scheduledAtMs = nextAttemptAtMs;
    const change = { state: "pending", tries: 0, nextAttemptAtMs, scheduledAtMs, finishedAtMs: undefined } as const;
    const sent = await this.#records.update({ name: deliveryId, profile: "" }, (delivery) => {
      if (delivery === undefined) return undefined;
      return { change, condition: this.#pending(delivery, { nextAttemptAtMs, livesMs: this.#keptMs }) };
    });
    return sent === undefined ? "gone" : "pending";
  }

  /** The part of a move that concerns other keys than the record (keep-pending.lua). */
  #pending(
    { webhook, event }: Delivery,
    {
      nextAttemptAtMs,
      livesMs,
      stop,
    }: { nextAttemptAtMs?: number | undefined; livesMs?: number; stop?: Readonly<Record<string, string | undefined>> },
  ): MoveCondition {
    const reported = stop && [this.#clock.wallMs(), this.#bounds.maxEvents, "webhook.stopped", event.profile];
    const args = [placeOf(event.id), nextAttemptAtMs ?? "", livesMs ?? "", ...(reported ?? [""])];
    return {
      script: keepPending,
      keys: [deliveryKeys(this.#keys, webhook).pending, deliveryKeys(this.#keys, webhook).webhook],
      args: [...args, ...Object.entries(stop ?? {}).flat()].map(String),
    };
  }

  /** Removes a delivery that is no longer stored from the pending ones. */
  async forget({ webhook, eventId }: { readonly webhook: string; readonly eventId: string }): Promise<void> {
    await this.#redis.zrem(deliveryKeys(this.#keys, webhook).pending, placeOf(eventId));
  }

  async status(webhook: string): Promise<WebhookStatus> {
    const fields = ["state", "reason", "stoppedAtMs", "dropped"];
    const [state, reason, at, dropped] = await this.#redis.hmget(deliveryKeys(this.#keys, webhook).webhook, ...fields);
    return {
      state: state === "stopped" ? "stopped" : "active",
      reason: reason ?? undefined,
      stoppedAtMs: at === null || at === undefined ? undefined : Number(at),
      dropped: Number(dropped ?? 0),
    };
  }

  /** Resumes a stopped webhook. */
  async resume(webhook: string): Promise<void> {
    await this.#redis.hdel(deliveryKeys(this.#keys, webhook).webhook, "state", "reason", "stoppedAtMs");
  }

  /** Number of pending deliveries. */
  pendingCount(webhook: string): Promise<number> {
    return this.#redis.zcard(deliveryKeys(this.#keys, webhook).pending);
  }

  /** Events whose deliveries are due, longest waiting first. */
  async due(webhook: string, max: number): Promise<string[]> {
    const key = deliveryKeys(this.#keys, webhook).pending;
    const places = await this.#redis.zrangebyscore(key, "-inf", this.#clock.wallMs(), "LIMIT", 0, max);
    return places.map(eventIdAt);
  }

  /**
   * Deliveries of one webhook, newest first.
   * @param query `beforeEventId`: only deliveries of older events
   */
  async newest(
    webhook: string,
    query: { limit: number; state?: DeliveryState | undefined; beforeEventId?: string | undefined },
  ): Promise<Delivery[]> {
    const found: Delivery[] = [];
    let before = query.beforeEventId === undefined ? "+" : `(${placeOf(query.beforeEventId)}`;
    while (found.length < query.limit) {
      const key = deliveryKeys(this.#keys, webhook).deliveries;
      const places = await this.#redis.zrevrangebylex(key, before, "-", "LIMIT", 0, readAtOnce);
      const ids = places.map((place) => deliveryIdOf(webhook, eventIdAt(place)));
      const kept = await Promise.all(ids.map((id) => this.#records.get(id)));
      found.push(
        ...kept
          .filter((one) => one !== undefined)
          .filter(({ state }) => query.state === undefined || state === query.state),
      );
      const last = places.at(-1);
      if (last === undefined || places.length < readAtOnce) break;
      before = `(${last}`;
    }
    return found.slice(0, query.limit);
  }
}

// Turns events into deliveries: selects the webhooks for each event, and begins each delivery in the log.

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
