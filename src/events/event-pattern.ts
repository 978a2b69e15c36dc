/** Which events somebody wants: an exact type, all of a kind as `run.*`, or `*` for all. */
import { type EventType, eventTypes } from "./event.ts";

/** Whether a type is one that the pattern means. */
export function isMeantBy(pattern: string, type: string): boolean {
  if (pattern === "*" || pattern === type) return true;
  return pattern.endsWith(".*") && type.startsWith(pattern.slice(0, -1));
}

/** The events of the catalogue that a pattern means; none where it is a mistake. */
export function typesMeantBy(pattern: string): readonly EventType[] {
  return eventTypes.filter((type) => isMeantBy(pattern, type));
}

/** Every pattern that means something, for suggestions. */
export function knownPatterns(): readonly string[] {
  return [...eventTypes, ...new Set(eventTypes.map((type) => `${type.slice(0, type.indexOf("."))}.*`)), "*"];
}
