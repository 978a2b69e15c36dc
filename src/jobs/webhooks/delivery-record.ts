/** The stored record of a delivery: a hash of texts, including the event, which may outlive its copy in the event stream. */
import type { Event, EventType } from "#events/event.ts";

export type DeliveryState = "pending" | "delivered" | "failed";

export interface Delivery {
  /** `<webhook>.<event id>` */
  readonly deliveryId: string;
  readonly webhook: string;
  readonly event: Event;
  readonly state: DeliveryState;
  /** Attempts in total, and since it was begun or last sent again manually. */
  readonly attempts: number;
  readonly tries: number;
  /** HTTP status of the last attempt; absent before it, and if there was no response. */
  readonly lastStatus: number | undefined;
  readonly lastReason: string | undefined;
  readonly createdAtMs: number;
  readonly finishedAtMs: number | undefined;
  /** Set while it is pending; absent before the first attempt. */
  readonly nextAttemptAtMs: number | undefined;
}

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

/** The hash of a new delivery, as field, value, … */
export function encodeDelivery(webhook: string, event: Event, createdAtMs: number): (string | number)[] {
  const { id, type, profile, atMs, fields } = event;
  const head = { deliveryId: deliveryIdOf(webhook, id), webhook, eventId: id, type, profile, atMs };
  return Object.entries({ ...head, fields: JSON.stringify(fields), attempts: 0, tries: 0, createdAtMs }).flat();
}

/** Decodes a delivery; undefined if the hash is empty. */
export function decodeDelivery(hash: Readonly<Record<string, string>>): Delivery | undefined {
  const { deliveryId, webhook = "", eventId = "", type, profile = "", atMs, fields = "{}", state, createdAtMs } = hash;
  if (deliveryId === undefined) return undefined;
  return {
    ...{ deliveryId, webhook, state: state as DeliveryState, createdAtMs: Number(createdAtMs) },
    event: {
      ...{ id: eventId, type: type as EventType, profile, atMs: Number(atMs) },
      fields: JSON.parse(fields) as Record<string, string>,
    },
    attempts: Number(hash["attempts"]),
    tries: Number(hash["tries"]),
    lastStatus: numberIn(hash["lastStatus"]),
    lastReason: hash["lastReason"] === "" ? undefined : hash["lastReason"],
    finishedAtMs: numberIn(hash["finishedAtMs"]),
    nextAttemptAtMs: numberIn(hash["nextAttemptAtMs"]),
  };
}

function numberIn(text: string | undefined): number | undefined {
  return text === undefined || text === "" ? undefined : Number(text);
}
