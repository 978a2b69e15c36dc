/**
 * Events: what exists, its fields, and when it is emitted. Each feature declares its own in its events.ts. An event is
 * written in the same step as the change that it reports, so neither ever exists without the other.
 */
import type { FieldValue } from "#fleet/sim/field-text.ts";

export interface EventFacts {
  readonly when: string;
  readonly fields: Readonly<Record<string, string>>;
  /** For people, as a template (sentence.ts). */
  readonly sentence: string;
  /** Advice, as a template of further sentences. */
  readonly advice?: string;
  readonly needsAttention?: boolean;
}

/** The events of a feature, by type. */
export type Events = Readonly<Record<string, EventFacts>>;

/** The types of all features: each adds its own. */
export interface EventTypes {}

export type EventType = keyof EventTypes;

const declared = new Map<string, EventFacts>();
/** All declared types, in the order of the features. */
export const eventTypes: EventType[] = [];

/** Makes the events of a feature known to this process. Adding them again has no effect. */
export function addEvents(events: Events): void {
  for (const [type, facts] of Object.entries(events)) {
    if (!declared.has(type)) eventTypes.push(type as EventType);
    declared.set(type, facts);
  }
}

export function factsOfEvent(type: string): EventFacts | undefined {
  return declared.get(type);
}

export interface Event {
  /** Increases from event to event and is unique, so a consumer can detect duplicates. */
  readonly id: string;
  readonly type: EventType;
  readonly atMs: number;
  /** Empty if the event concerns every account. */
  readonly profile: string;
  /** The fields of the catalog, each as text. */
  readonly fields: Readonly<Record<string, string>>;
  /** With `sim.changed`: `before` and `after` as values of the platform's record, text or JSON. */
  readonly values?: Readonly<Partial<Record<"before" | "after", FieldValue>>>;
}

// Patterns that select events: an exact type, all of a kind as `run.*`, or `*` for all.

export function isMeantBy(pattern: string, type: string): boolean {
  if (pattern === "*" || pattern === type) return true;
  return pattern.endsWith(".*") && type.startsWith(pattern.slice(0, -1));
}

/** The events of the catalog that a pattern matches; empty if the pattern is a mistake. */
export function typesMeantBy(pattern: string): readonly EventType[] {
  return eventTypes.filter((type) => isMeantBy(pattern, type));
}

/** All valid patterns, for suggestions. */
export function knownPatterns(): readonly string[] {
  return [...eventTypes, ...new Set(eventTypes.map((type) => `${type.slice(0, type.indexOf("."))}.*`)), "*"];
}
