/** Events as sentences, and the changes of single SIMs grouped under what caused them. */
import { eventSentences } from "./event-texts.ts";
import type { FleetEvent } from "../shapes.ts";

/** Text, or a field of the event, which may be shown as a link. */
export type Part = string | { readonly field: string; readonly value: string };

/** The type and all fields, for an event without a sentence. */
export function sentenceOf({ type, fields }: Pick<FleetEvent, "type" | "fields">): Part[] {
  const template = eventSentences[type];
  if (template !== undefined) return joined(partsOf(template, fields) ?? []);
  return [type, ...Object.entries(fields).flatMap(([field, value]): Part[] => [` ${field} `, { field, value }])];
}

export function textOfSentence(parts: readonly Part[]): string {
  return parts.map((part) => (typeof part === "string" ? part : part.value)).join("");
}

const piece = /\[([^\]]*)\]|\{(\w+)(\+?)\}|[^[{]+/g;

/** Undefined for an optional text if one of its fields is empty. */
function partsOf(
  template: string,
  fields: FleetEvent["fields"],
  within: "sentence" | "brackets" = "sentence",
): Part[] | undefined {
  const parts: Part[] = [];
  for (const [text, optional, field, isCount] of template.matchAll(piece)) {
    if (optional !== undefined) parts.push(...(partsOf(optional, fields, "brackets") ?? []));
    else if (field === undefined) parts.push(text);
    else {
      const value = fields[field] ?? "";
      const isEmpty = value === "" || (isCount === "+" && value === "0");
      if (isEmpty && within === "brackets") return undefined;
      parts.push(isEmpty ? "–" : { field, value });
    }
  }
  return parts;
}

function joined(parts: readonly Part[]): Part[] {
  return parts.reduce<Part[]>((all, part) => {
    const last = all.at(-1);
    if (typeof part === "string" && typeof last === "string") return [...all.slice(0, -1), last + part];
    return [...all, part];
  }, []);
}

/** The first word of a type. */
export function kindOf(type: string): string {
  return type.split(".", 1)[0] ?? type;
}

/** The event types of these kinds that this page knows. */
export function typesOf(kinds: readonly string[]): string[] {
  return Object.keys(eventSentences).filter((type) => kinds.includes(kindOf(type)));
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
