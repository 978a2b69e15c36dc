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
import type { Event } from "#events/event.ts";
import { type FeedBounds, emitScriptPart } from "#events/feed.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import {
  type Delivery,
  type DeliveryState,
  decodeDelivery,
  encodeDelivery,
  eventIdAt,
  partsOf,
  placeOf,
} from "./delivery-record.ts";

const beginScript = deliveryScript("begin-delivery.lua");
const tryScript = deliveryScript("note-try.lua");
const redeliverScript = deliveryScript("redeliver.lua");

/** Delivery attempts span more than a day: the record lives longer, however short events are kept. */
const leastKeptMs = 3 * 86_400_000;
const usuallyMost = 10_000;
const readAtOnce = 200;

/** Result of one attempt. */
export type TryEnd =
  | { readonly kind: "delivered"; readonly status: number }
  | {
      readonly kind: "again" | "failed" | "stopped";
      readonly status?: number | undefined;
      readonly reason: string;
      /** Set with `again`. */
      readonly nextAttemptAtMs?: number;
    };

/** Whether a webhook is active or stopped. */
export interface WebhookStatus {
  readonly state: "active" | "stopped";
  readonly reason: string | undefined;
  readonly stoppedAtMs: number | undefined;
  /** Number of pending deliveries that were dropped to make room for newer ones. */
  readonly dropped: number;
}

export class DeliveryLog {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #bounds: FeedBounds;
  readonly #most: number;
  readonly #keptMs: number;

  /** @param terms `most`: maximum number of deliveries kept per webhook; 10,000 by default */
  constructor(storeDeps: { redis: Redis; keys: Keys; clock: Clock; bounds: FeedBounds; most?: number }) {
    this.#redis = storeDeps.redis;
    this.#keys = storeDeps.keys;
    this.#clock = storeDeps.clock;
    this.#bounds = storeDeps.bounds;
    this.#most = storeDeps.most ?? usuallyMost;
    this.#keptMs = Math.max(leastKeptMs, Math.round(storeDeps.bounds.keepMs));
  }

  /** Begins to deliver an event. @returns `pending` also if it was begun before and has not ended */
  async begin(webhook: string, event: Event): Promise<"pending" | "over" | "stopped"> {
    const nowMs = this.#clock.wallMs();
    const oldest = placeOf(`${Math.max(0, Math.floor(nowMs - this.#keptMs))}-0`);
    const storeDeps = [oldest, this.#most, this.#keptMs, nowMs];
    return (await this.#run(beginScript, webhook, [
      ...[placeOf(event.id), ...storeDeps, ...encodeDelivery(webhook, event, nowMs)],
    ])) as "pending" | "over" | "stopped";
  }

  async delivery(deliveryId: string): Promise<Delivery | undefined> {
    const deps = partsOf(deliveryId);
    if (deps === undefined) return undefined;
    return decodeDelivery(await this.#redis.hgetall(this.#keys.delivery(deps.webhook, placeOf(deps.eventId))));
  }

  /** Records an attempt. @returns `over` if the delivery had ended before */
  async noteTry({ webhook, event }: Delivery, end: TryEnd): Promise<"noted" | "over"> {
    const reason = end.kind === "delivered" ? "" : end.reason;
    const next = end.kind === "delivered" ? "" : (end.nextAttemptAtMs ?? "");
    const args = [placeOf(event.id), this.#clock.wallMs(), end.kind, end.status ?? "", reason, next];
    return (await this.#run(tryScript, webhook, args)) as "noted" | "over";
  }

  /** Sends a delivery again. @returns `gone` if it is no longer stored */
  async redeliver(deliveryId: string): Promise<"pending" | "gone"> {
    const deps = partsOf(deliveryId);
    if (deps === undefined) return "gone";
    const args = [placeOf(deps.eventId), this.#clock.wallMs(), this.#keptMs];
    return (await this.#run(redeliverScript, deps.webhook, args)) as "pending" | "gone";
  }

  /** Removes a delivery that is no longer stored from the pending ones. */
  async forget({ webhook, eventId }: { readonly webhook: string; readonly eventId: string }): Promise<void> {
    await this.#redis.zrem(this.#keys.deliveriesPending(webhook), placeOf(eventId));
  }

  async status(webhook: string): Promise<WebhookStatus> {
    const fields = ["state", "reason", "stoppedAtMs", "dropped"];
    const [state, reason, at, dropped] = await this.#redis.hmget(this.#keys.webhook(webhook), ...fields);
    return {
      state: state === "stopped" ? "stopped" : "active",
      reason: reason ?? undefined,
      stoppedAtMs: at === null || at === undefined ? undefined : Number(at),
      dropped: Number(dropped ?? 0),
    };
  }

  /** Resumes a stopped webhook. */
  async resume(webhook: string): Promise<void> {
    await this.#redis.hdel(this.#keys.webhook(webhook), "state", "reason", "stoppedAtMs");
  }

  /** Number of pending deliveries. */
  pendingCount(webhook: string): Promise<number> {
    return this.#redis.zcard(this.#keys.deliveriesPending(webhook));
  }

  /** Events whose deliveries are due, longest waiting first. */
  async due(webhook: string, most: number): Promise<string[]> {
    const key = this.#keys.deliveriesPending(webhook);
    const places = await this.#redis.zrangebyscore(key, "-inf", this.#clock.wallMs(), "LIMIT", 0, most);
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
      const key = this.#keys.deliveries(webhook);
      const places = await this.#redis.zrevrangebylex(key, before, "-", "LIMIT", 0, readAtOnce);
      const hashes = await Promise.all(places.map((place) => this.#redis.hgetall(this.#keys.delivery(webhook, place))));
      const kept = hashes.map(decodeDelivery).filter((one) => one !== undefined);
      found.push(...kept.filter(({ state }) => query.state === undefined || state === query.state));
      const last = places.at(-1);
      if (last === undefined || places.length < readAtOnce) break;
      before = `(${last}`;
    }
    return found.slice(0, query.limit);
  }

  #run(script: Script, webhook: string, args: readonly (string | number)[]): Promise<unknown> {
    const keys = [
      this.#keys.webhook(webhook),
      this.#keys.deliveries(webhook),
      this.#keys.deliveriesPending(webhook),
      this.#keys.delivery(webhook),
      this.#keys.events(),
    ];
    return script.run(this.#redis, keys, [this.#bounds.most, ...args]);
  }
}

function deliveryScript(name: string): Script {
  return Script.load(emitScriptPart, new URL("./delivery.lua", import.meta.url), new URL(`./${name}`, import.meta.url));
}
