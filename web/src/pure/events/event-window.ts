/**
 * The newest events that the page keeps, newest first, without duplicates. While paused, new events are buffered, so
 * that rows do not move under the pointer.
 */
import type { FleetEvent } from "../shapes.ts";

const maxKept = 500;

export interface EventWindow {
  readonly shown: readonly FleetEvent[];
  /** Arrived while paused. */
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

/** Resumes, and shows the buffered events. */
export function resumed(window: EventWindow): EventWindow {
  return { shown: merged(window.shown, window.aside), aside: [], isPaused: false };
}

function merged(before: readonly FleetEvent[], more: readonly FleetEvent[]): FleetEvent[] {
  const byId = new Map([...before, ...more].map((event) => [event.id, event]));
  return [...byId.values()].toSorted((a, b) => compareIds(b.id, a.id)).slice(0, maxKept);
}

/** Ids are `milliseconds-number`, and both parts increase. */
function compareIds(a: string, b: string): number {
  const [aMs = 0, aNumber = 0] = a.split("-").map(Number);
  const [bMs = 0, bNumber = 0] = b.split("-").map(Number);
  return aMs - bMs || aNumber - bNumber;
}

/** The run that an event refers to, if any. */
export function runOf({ fields: { run, cause } }: Pick<FleetEvent, "fields">): string | undefined {
  return run ?? (cause?.startsWith("r-") === true ? cause : undefined);
}
