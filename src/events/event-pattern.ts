/** Patterns that select events: an exact type, all of a kind as `run.*`, or `*` for all. */
import { type EventType, eventTypes } from "./event.ts";

/** Whether a pattern matches a type. */
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
