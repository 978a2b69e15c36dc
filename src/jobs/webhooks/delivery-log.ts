/**
 * The deliveries as the store keeps them: one record for each event that a webhook wants, begun once and ended once,
 * whatever is killed in between. The queue holds only turns to try; what it lost is found here. Its moves:
 *   pending -> delivered   the receiver has taken it
 *   pending -> failed      every try was spent, or the receiver wants nothing any more (the webhook is stopped then)
 *   delivered | failed -> pending   a person has it sent again
 * Kept for a time and up to a number for each webhook; the oldest go first.
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

/** A delivery is tried for a day and more: its record lives longer, however short events are kept. */
const leastKeptMs = 3 * 86_400_000;
const usuallyMost = 10_000;
const readAtOnce = 200;

/** What came of one try. */
export type TryEnd =
  | { readonly kind: "delivered"; readonly status: number }
  | {
      readonly kind: "again" | "failed" | "stopped";
      readonly status?: number | undefined;
      readonly reason: string;
      /** With `again`. */
      readonly nextAttemptAtMs?: number;
    };

/** Whether a webhook takes messages. */
export interface WebhookStatus {
  readonly state: "active" | "stopped";
  readonly reason: string | undefined;
  readonly stoppedAtMs: number | undefined;
  /** Messages that still waited and had to make room for newer ones. */
  readonly dropped: number;
}

export class DeliveryLog {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #bounds: FeedBounds;
  readonly #most: number;
  readonly #keptMs: number;

  /** @param terms `most` deliveries of one webhook are kept; 10,000 by default */
  constructor(storeDeps: { redis: Redis; keys: Keys; clock: Clock; bounds: FeedBounds; most?: number }) {
    this.#redis = storeDeps.redis;
    this.#keys = storeDeps.keys;
    this.#clock = storeDeps.clock;
    this.#bounds = storeDeps.bounds;
    this.#most = storeDeps.most ?? usuallyMost;
    this.#keptMs = Math.max(leastKeptMs, Math.round(storeDeps.bounds.keepMs));
  }

  /** Begins to deliver an event. @returns `pending` also where it was begun before and is not over */
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

  /** Notes a try. @returns `over` where the delivery had ended before */
  async noteTry({ webhook, event }: Delivery, end: TryEnd): Promise<"noted" | "over"> {
    const reason = end.kind === "delivered" ? "" : end.reason;
    const next = end.kind === "delivered" ? "" : (end.nextAttemptAtMs ?? "");
    const args = [placeOf(event.id), this.#clock.wallMs(), end.kind, end.status ?? "", reason, next];
    return (await this.#run(tryScript, webhook, args)) as "noted" | "over";
  }

  /** Has a delivery sent again. @returns `gone` where it is no longer kept */
  async redeliver(deliveryId: string): Promise<"pending" | "gone"> {
    const deps = partsOf(deliveryId);
    if (deps === undefined) return "gone";
    const args = [placeOf(deps.eventId), this.#clock.wallMs(), this.#keptMs];
    return (await this.#run(redeliverScript, deps.webhook, args)) as "pending" | "gone";
  }

  /** Takes a delivery that is no longer kept out of those that wait. */
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

  /** Lets a stopped webhook take messages again. */
  async resume(webhook: string): Promise<void> {
    await this.#redis.hdel(this.#keys.webhook(webhook), "state", "reason", "stoppedAtMs");
  }

  /** How many deliveries are not over. */
  pendingCount(webhook: string): Promise<number> {
    return this.#redis.zcard(this.#keys.deliveriesPending(webhook));
  }

  /** Events whose deliveries are due, those that have waited longest first. */
  async due(webhook: string, most: number): Promise<string[]> {
    const key = this.#keys.deliveriesPending(webhook);
    const places = await this.#redis.zrangebyscore(key, "-inf", this.#clock.wallMs(), "LIMIT", 0, most);
    return places.map(eventIdAt);
  }

  /**
   * Deliveries of one webhook, newest first.
   * @param query `beforeEventId`: older than of this event
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
