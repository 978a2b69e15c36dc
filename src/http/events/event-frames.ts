/**
 * Encodes events as frames of an event stream. All streams receive the same lists of events, so each list is encoded
 * once per selection and shared: a thousand streams send one buffer. The buffer is released together with its list.
 */
import type { Event, EventType } from "#events/event.ts";
import { documentOfEvent } from "#events/event-document.ts";

/** Selects the events of a stream. */
export interface EventSelection {
  readonly types: readonly EventType[] | undefined;
  readonly profile: string | undefined;
}

/** Selections per list that are cached; further ones are encoded for each stream. */
const mostKept = 8;
const whole = "";

export class EventFrames {
  readonly #kept = new WeakMap<readonly Event[], Map<string, Buffer>>();
  readonly #frames = new WeakMap<Event, string>();

  /** Encodes the selected events; undefined if there are none. */
  of(events: readonly Event[], selection: EventSelection): Buffer | undefined {
    let kept = this.#kept.get(events);
    if (kept === undefined) this.#kept.set(events, (kept = new Map<string, Buffer>()));
    const before = kept.get(nameOf(selection));
    if (before !== undefined) return before.length === 0 ? undefined : before;
    const meant = events.filter((event) => isMeant(selection, event));
    const name = meant.length === events.length ? whole : nameOf(selection);
    const bytes = kept.get(name) ?? Buffer.from(meant.map((event) => this.#frameOf(event)).join(""));
    if (name === whole || kept.size < mostKept) kept.set(name, bytes);
    return bytes.length === 0 ? undefined : bytes;
  }

  #frameOf(event: Event): string {
    let frame = this.#frames.get(event);
    if (frame === undefined) {
      const { id, type } = event;
      frame = `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(documentOfEvent(event))}\n\n`;
      this.#frames.set(event, frame);
    }
    return frame;
  }
}

function nameOf({ types, profile }: EventSelection): string {
  return types === undefined && profile === undefined ? whole : JSON.stringify([types, profile]);
}

function isMeant({ types, profile }: EventSelection, event: Event): boolean {
  return (
    (types === undefined || types.includes(event.type)) &&
    (profile === undefined || event.profile === "" || event.profile === profile)
  );
}
