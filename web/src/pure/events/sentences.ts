/** Events as sentences, and the changes of single SIMs grouped under what caused them. */
import { eventSentences, failureTypes } from "./event-texts.ts";
import type { FleetEvent } from "../shapes.ts";
import { type Part, partsOfSentence } from "#events/sentence.ts";

/** The type and all fields, for an event without a sentence. */
export function sentenceOf({ type, fields }: Pick<FleetEvent, "type" | "fields">): Part[] {
  const template = eventSentences[type];
  if (template !== undefined) return partsOfSentence(template, fields);
  return [type, ...Object.entries(fields).flatMap(([field, value]): Part[] => [` ${field} `, { field, value }])];
}

/** The first word of a type. */
export function kindOf(type: string): string {
  return type.split(".", 1)[0] ?? type;
}

/** The event types of these kinds that this page knows. */
export function typesOf(kinds: readonly string[]): string[] {
  return Object.keys(eventSentences).filter((type) => kinds.includes(kindOf(type)));
}

/** Whether it needs attention; a completed run is a failure if rows of it are not done. */
export function isFailure({ type, fields: { rejected = "", failed = "", unknown = "" } }: FleetEvent): boolean {
  if (type === "run.completed") return [rejected, failed, unknown].some((count) => count !== "" && count !== "0");
  return failureTypes.includes(type) || /^schedule.(skipped|missed)$/.test(type);
}

/** An event, or the changes of SIMs that one run or sync caused. */
export type Entry =
  | { readonly event: FleetEvent }
  | { readonly cause: string; readonly newest: FleetEvent; readonly changes: readonly FleetEvent[] };

/** @param events newest first; a group takes the place of its newest event */
export function groupedEvents(events: readonly FleetEvent[]): Entry[] {
  const groups = new Map<string, FleetEvent[]>();
  const entries: Entry[] = [];
  for (const event of events) {
    const { cause } = event.fields;
    if (kindOf(event.type) !== "sim" || cause === undefined || cause === "") {
      entries.push({ event });
      continue;
    }
    const known = groups.get(cause);
    if (known !== undefined) known.push(event);
    else {
      const changes = [event];
      groups.set(cause, changes);
      entries.push({ cause, newest: event, changes });
    }
  }
  return entries;
}
