/**
 * The source of events for `events tail`: the feed of this machine's Redis, or a remote worker. Both return the same
 * documents, oldest first, without duplicates.
 */
import type { Kernel } from "#kernel/kernel.ts";
import type { EventDocument } from "#events/contract.ts";
import { documentOfEvent } from "#events/contract.ts";
import type { EventType } from "#events/event.ts";

const readAtOnce = 1_000;

/** Selection of events. */
export interface EventChoice {
  readonly types: readonly EventType[] | undefined;
  readonly profile: string | undefined;
}

type Lots = AsyncIterable<readonly EventDocument[]>;

export interface EventSource {
  /** The most recent events. @returns `lastId`: later calls return only events after it */
  last(max: number): Promise<{ events: readonly EventDocument[]; lastId: string }>;
  /** All existing events after an event. */
  after(id: string): Lots;
  /** All events after an event, existing and new, until Ctrl-C. */
  follow(id: string): Lots;
}

export function localEvents(
  { feed, tail }: Pick<Kernel, "feed" | "tail">,
  selection: EventChoice,
  interrupt: AbortSignal,
): EventSource {
  const known: ReadonlySet<string> | undefined = selection.types && new Set(selection.types);
  const isChosen = ({ type, profile }: EventDocument): boolean =>
    (selection.profile === undefined || profile === "" || profile === selection.profile) &&
    (known === undefined || known.has(type));
  return {
    async last(max) {
      const head = await feed.head();
      const { events } = await feed.newest(selection, { limit: max });
      // Events between the two calls are in the list and are not returned again.
      return { events: events.toReversed().map(documentOfEvent), lastId: events[0]?.id ?? head };
    },
    async *after(id) {
      for (let lastId = id; ;) {
        const page = await feed.after(lastId, readAtOnce);
        yield page.events.map(documentOfEvent).filter(isChosen);
        if (page.lastId === lastId) return;
        lastId = page.lastId;
      }
    },
    async *follow(id) {
      for await (const events of tail.follow(id, interrupt)) yield events.map(documentOfEvent).filter(isChosen);
    },
  };
}
