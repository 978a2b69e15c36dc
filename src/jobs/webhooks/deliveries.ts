/**
 * The store of deliveries: one record per event and webhook, which starts once and ends once, even after crashes. The
 * queue only triggers attempts; lost jobs are restored from here. Transitions:
 *   pending -> delivered   the endpoint has accepted it
 *   pending -> failed      all attempts failed, or the endpoint wants no more messages (the webhook is stopped then)
 *   delivered | failed -> pending   a user sends it again
 * Records are kept for a limited time and up to a number per webhook; the oldest are removed first. A record includes
 * the event, which may outlive its copy in the event stream.
 */
import { type Clock, clockToleranceMs } from "#core/time.ts";
import { type MoveCondition, type StoreDeps, moveScript } from "#engine/move-record.ts";
import { type StateStore, stateStore, storedRecord } from "#engine/record.ts";
import type { RecordOf } from "#contract/fields.ts";
import { type Event, isMeantBy } from "#events/event.ts";
import { emitScriptPart, placeOf } from "#events/feed.ts";
import type { Webhook } from "./config.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import type { DeliveryReport } from "./contract.ts";

const beginScript = Script.load(emitScriptPart, new URL("./begin-delivery.lua", import.meta.url));
const keepPending = moveScript(new URL("./keep-pending.lua", import.meta.url));

const readAtOnce = 200;
/** A webhook fails after so many failed attempts in a row (keep-pending.lua). */
const failingAfter = 3;

export interface Delivery extends Omit<RecordOf<DeliveryReport>, "eventId" | "eventType"> {
  readonly profile: string;
  readonly revision?: number;
  readonly event: Event;
  /** Attempts since it was started or last sent again manually. */
  readonly tries: number;
  /** When `nextAttemptAtMs` was set. */
  readonly scheduledAtMs?: number;
}

export interface TryEnd {
  /** `stopped`: the delivery has failed, and the endpoint wants no more messages. */
  readonly kind: "delivered" | "again" | "failed" | "stopped";
  readonly status?: number | undefined;
  readonly reason?: string | undefined;
  /** Set with `again`. */
  readonly nextAttemptAtMs?: number | undefined;
}

const stateAfter = { delivered: "delivered", again: "pending", failed: "failed", stopped: "failed" } as const;

/** How long until its next attempt, ms. Not at all if the clock has gone back since the time was set. */
export function earlyMs({ nextAttemptAtMs = 0, scheduledAtMs = 0 }: Delivery, nowMs: number): number {
  return scheduledAtMs > nowMs + clockToleranceMs ? 0 : Math.max(0, nextAttemptAtMs - nowMs);
}

/** Names of webhooks contain no dots. */
export function deliveryIdOf(webhook: string, eventId: string): string {
  return `${webhook}.${eventId}`;
}

export function partsOf(deliveryId: string): { webhook: string; eventId: string } | undefined {
  const [, webhook, eventId] = /^([A-Za-z0-9_-]{1,64})\.(\d{1,15}-\d{1,20})$/.exec(deliveryId) ?? [];
  return webhook === undefined || eventId === undefined ? undefined : { webhook, eventId };
}

/** The id of the event at a place, which is also the place of its delivery. */
export function eventIdAt(place: string): string {
  return place.replace(/^0+(?=\d)/, "").replace(/-0+(?=\d)/, "-");
}

export function deliveryKeys(keys: Keys, webhook: string) {
  return {
    /** Hash: whether it is stopped, and why; attempts that failed in a row; number of dropped deliveries. */
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
  readonly #deps: StoreDeps & { readonly clock: Clock };
  readonly #max: number;
  readonly #keptMs: number;
  readonly #records: StateStore<Delivery>;

  /** @param keepMs how long deliveries are kept @param max maximum number of them per webhook */
  constructor(deps: StoreDeps & { readonly clock: Clock }, keepMs: number, max = 10_000) {
    this.#deps = deps;
    this.#max = max;
    this.#keptMs = Math.round(keepMs);
    const kind = { numbers: ["attempts", "tries", "lastStatus"], json: ["event"] } as const;
    this.#records = stateStore<Delivery>(kind, deps, (deliveryId) => {
      const { webhook = "", eventId = "" } = partsOf(deliveryId) ?? {};
      return this.#keysOf(webhook).delivery(placeOf(eventId));
    });
  }

  #keysOf(webhook: string) {
    return deliveryKeys(this.#deps.keys, webhook);
  }

  /** Starts to deliver an event. @returns `pending` also if it was started before and has not ended */
  async begin(webhook: string, event: Event): Promise<"pending" | "over" | "stopped"> {
    const { redis, keys, bounds, clock } = this.#deps;
    const createdAtMs = clock.wallMs();
    const deliveryId = deliveryIdOf(webhook, event.id);
    const begun = { state: "pending", attempts: 0, tries: 0, createdAtMs } as const;
    const record: Delivery = { deliveryId, webhook, profile: event.profile, event, ...begun };
    const { webhook: ofWebhook, deliveries, pending, delivery } = this.#keysOf(webhook);
    return (await beginScript.run(
      redis,
      [ofWebhook, deliveries, pending, delivery(), keys.events()],
      [
        bounds.maxEvents,
        placeOf(event.id),
        placeOf(`${Math.max(0, Math.floor(createdAtMs - this.#keptMs))}-0`),
        this.#max,
        this.#keptMs,
        createdAtMs,
        ...storedRecord(record),
      ],
    )) as "pending" | "over" | "stopped";
  }

  async delivery(deliveryId: string): Promise<Delivery | undefined> {
    return partsOf(deliveryId) && this.#records.get(deliveryId);
  }

  /** The part of a move that concerns other keys than the record (keep-pending.lua). */
  #pendingPart(
    { webhook, event }: Delivery,
    nextAttemptAtMs: number | undefined,
    more: { livesMs?: number; result?: TryEnd["kind"]; fields?: Readonly<Record<string, string | undefined>> } = {},
  ): MoveCondition {
    const { livesMs = "", result = "", fields = {} } = more;
    const { pending, webhook: ofWebhook } = this.#keysOf(webhook);
    const limits = [placeOf(event.id), nextAttemptAtMs ?? "", livesMs, result, this.#deps.bounds.maxEvents];
    const eventFields = Object.entries(fields).flatMap(([name, value = ""]) => [name, value]);
    const args = [...limits, event.profile, ...eventFields].map(String);
    return { script: keepPending, keys: [pending, ofWebhook], args };
  }

  /** Records an attempt. @returns `over` if the delivery had ended before */
  async noteTry(of: Delivery, end: TryEnd): Promise<"noted" | "over"> {
    const { kind, status, reason, nextAttemptAtMs } = end;
    const noted = await this.#records.update({ name: of.deliveryId, profile: of.profile }, (found) => {
      if (found?.state !== "pending") return undefined;
      const { deliveryId, webhook, event, attempts, tries } = found;
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
          scheduledAtMs: kind === "again" ? this.#deps.clock.wallMs() : undefined,
          finishedAtMs: kind === "again" ? undefined : this.#deps.clock.wallMs(),
        },
        events: isReported ? [{ type: "webhook.failed", fields }] : [],
        condition: this.#pendingPart(found, nextAttemptAtMs, { result: kind, fields }),
      };
    });
    return noted === undefined ? "over" : "noted";
  }

  /** Has a delivery sent again, if it is still stored. */
  async redeliver(deliveryId: string): Promise<void> {
    const nowMs = this.#deps.clock.wallMs();
    const due = { nextAttemptAtMs: nowMs, scheduledAtMs: nowMs, finishedAtMs: undefined };
    await this.#records.update(
      { name: deliveryId, profile: "" },
      (found) =>
        found && {
          change: { state: "pending", tries: 0, ...due },
          condition: this.#pendingPart(found, nowMs, { livesMs: this.#keptMs }),
        },
    );
  }

  /** Removes a delivery that is no longer stored from the pending ones. */
  async forget(webhook: string, eventId: string): Promise<void> {
    await this.#deps.redis.zrem(this.#keysOf(webhook).pending, placeOf(eventId));
  }

  /** Whether a webhook is active, failing or stopped. `dropped`: pending deliveries that made room for newer ones. */
  async status(webhook: string) {
    const found = await this.#deps.redis.hgetall(this.#keysOf(webhook).webhook);
    const { state, reason, failures = 0, failure, dropped = 0 } = found;
    const isFailing = Number(failures) >= failingAfter;
    return {
      state: state === "stopped" ? ("stopped" as const) : isFailing ? ("failing" as const) : ("active" as const),
      reason: reason ?? (isFailing ? failure : undefined),
      dropped: Number(dropped),
    };
  }

  async resume(webhook: string): Promise<void> {
    await this.#deps.redis.hdel(this.#keysOf(webhook).webhook, "state", "reason", "failures", "failure");
  }

  pendingCount(webhook: string): Promise<number> {
    return this.#deps.redis.zcard(this.#keysOf(webhook).pending);
  }

  /** Events whose deliveries are due, longest waiting first. */
  async due(webhook: string, maxCount: number): Promise<string[]> {
    const { redis, clock } = this.#deps;
    const { pending } = this.#keysOf(webhook);
    return (await redis.zrangebyscore(pending, "-inf", clock.wallMs(), "LIMIT", 0, maxCount)).map(eventIdAt);
  }

  /**
   * Deliveries of one webhook, newest first.
   * @param query `from`: the place of the first one, after `[`, or of the one before it, after `(`
   */
  async newest(
    webhook: string,
    query: { limit: number; state?: Delivery["state"] | undefined; from?: string | undefined },
  ): Promise<Delivery[]> {
    const { deliveries } = this.#keysOf(webhook);
    const found: Delivery[] = [];
    let from = query.from ?? "+";
    while (found.length < query.limit) {
      const places = await this.#deps.redis.zrevrangebylex(deliveries, from, "-", "LIMIT", 0, readAtOnce);
      const kept = await Promise.all(places.map((place) => this.#records.get(deliveryIdOf(webhook, eventIdAt(place)))));
      for (const one of kept) {
        if (one !== undefined && (query.state === undefined || one.state === query.state)) found.push(one);
      }
      const last = places.at(-1);
      if (last === undefined || places.length < readAtOnce) break;
      from = `(${last}`;
    }
    return found.slice(0, query.limit);
  }
}

/**
 * Starts the deliveries of those events that a webhook wants. Repeating it has no effect.
 * @returns the events to send
 */
export async function beginDeliveries(events: readonly Event[], webhook: Webhook, log: Pick<DeliveryLog, "begin">) {
  const wanted = events.filter((event) => wants(webhook, event));
  const begun = await Promise.all(wanted.map((event) => log.begin(webhook.name, event)));
  return wanted.filter((_, i) => begun[i] === "pending").map(({ id }) => id);
}

/**
 * Whether a webhook receives an event; an event without a profile concerns every account. A webhook never receives
 * events about itself: each failed message would cause another one.
 */
function wants({ name, events, profile }: Webhook, event: Event): boolean {
  const isForAll = profile === undefined || event.profile === "";
  if (!isForAll && event.profile !== profile) return false;
  if (event.type.startsWith("webhook.") && event.fields["webhook"] === name) return false;
  return events.some((pattern) => isMeantBy(pattern, event.type));
}
