/**
 * The newest events that the page keeps, newest first, each once. While it is paused, what comes is kept aside, so that
 * a row does not move under the finger that points at it.
 */
import type { FleetEvent } from "./shapes.ts";

const mostKept = 500;

export interface EventWindow {
  readonly shown: readonly FleetEvent[];
  /** Came while it was paused. */
  readonly aside: readonly FleetEvent[];
  readonly isPaused: boolean;
}

export const emptyWindow: EventWindow = { shown: [], aside: [], isPaused: false };

/** @param events in any order */
export function withEvents(window: EventWindow, events: readonly FleetEvent[]): EventWindow {
  if (events.length === 0) return window;
  return window.isPaused
    ? { ...window, aside: merged(window.aside, events) }
    : { ...window, shown: merged(window.shown, events) };
}

export function paused(window: EventWindow): EventWindow {
  return { ...window, isPaused: true };
}

/** Goes on, and shows what came meanwhile. */
export function resumed(window: EventWindow): EventWindow {
  return { shown: merged(window.shown, window.aside), aside: [], isPaused: false };
}

function merged(before: readonly FleetEvent[], more: readonly FleetEvent[]): FleetEvent[] {
  const byId = new Map([...before, ...more].map((event) => [event.id, event]));
  return [...byId.values()].toSorted((a, b) => compareIds(b.id, a.id)).slice(0, mostKept);
}

/** Ids are `milliseconds-number`, both of which grow. */
export function compareIds(a: string, b: string): number {
  const [aMs = 0, aNumber = 0] = a.split("-").map(Number);
  const [bMs = 0, bNumber = 0] = b.split("-").map(Number);
  return aMs - bMs || aNumber - bNumber;
}

/** The run that an event tells of, if it does. */
export function runOf({ fields: { run, cause } }: Pick<FleetEvent, "fields">): string | undefined {
  return run ?? (cause?.startsWith("r-") === true ? cause : undefined);
}

/** The fields that say something: neither those that are empty, nor outcomes that no row has. */
export function fieldsOf({ type, fields }: Pick<FleetEvent, "type" | "fields">): [name: string, value: string][] {
  return Object.entries(fields).filter(([, value]) => value !== "" && !(type.startsWith("run.") && value === "0"));
}
