/** The stored record of a delivery, including the event, which may outlive its copy in the event stream. */
import { clockToleranceMs } from "#core/time.ts";
import type { RecordFields } from "#engine/record.ts";
import type { Event } from "#events/event.ts";

export type DeliveryState = "pending" | "delivered" | "failed";

export interface Delivery {
  /** `<webhook>.<event id>` */
  readonly deliveryId: string;
  readonly webhook: string;
  readonly profile: string;
  readonly revision?: number;
  readonly event: Event;
  readonly state: DeliveryState;
  /** Attempts in total, and since it was begun or last sent again manually. */
  readonly attempts: number;
  readonly tries: number;
  /** HTTP status of the last attempt; absent before it, and if there was no response. */
  readonly lastStatus?: number;
  readonly lastReason?: string;
  readonly createdAtMs: number;
  readonly finishedAtMs?: number;
  /** Set while it is pending; absent before the first attempt. */
  readonly nextAttemptAtMs?: number;
  /** When that time was set. */
  readonly scheduledAtMs?: number;
}

/** How long until its next attempt, ms. Not at all if the clock has gone back since the time was set. */
export function earlyMs({ nextAttemptAtMs = 0, scheduledAtMs = 0 }: Delivery, nowMs: number): number {
  return scheduledAtMs > nowMs + clockToleranceMs ? 0 : Math.max(0, nextAttemptAtMs - nowMs);
}

export const deliveryFields: RecordFields<Delivery> = {
  numbers: ["attempts", "tries", "lastStatus"],
  objects: ["event"],
};

/** Builds a delivery's id; webhook names contain no dots. */
export function deliveryIdOf(webhook: string, eventId: string): string {
  return `${webhook}.${eventId}`;
}

/** Splits a delivery's id; undefined if it is invalid. */
export function partsOf(deliveryId: string): { webhook: string; eventId: string } | undefined {
  const [, webhook, eventId] = /^([A-Za-z0-9_-]{1,64})\.(\d{1,15}-\d{1,20})$/.exec(deliveryId) ?? [];
  return webhook === undefined || eventId === undefined ? undefined : { webhook, eventId };
}

/** The place of a delivery: its event's id, formatted so that texts sort in event order. */
export function placeOf(eventId: string): string {
  const [ms = "0", seq = "0"] = eventId.split("-");
  return `${ms.padStart(15, "0")}-${seq.padStart(20, "0")}`;
}

/** The event's id at a place. */
export function eventIdAt(place: string): string {
  return place.replace(/^0+(?=\d)/, "").replace(/-0+(?=\d)/, "-");
}

/** A delivery that was not attempted yet. */
export function newDelivery(webhook: string, event: Event, createdAtMs: number): Delivery {
  const head = { deliveryId: deliveryIdOf(webhook, event.id), webhook, profile: event.profile, event };
  return { ...head, state: "pending", attempts: 0, tries: 0, createdAtMs };
}
