/**
 * Where `events tail` has events from: the feed of this machine's Redis, or a worker elsewhere. Both give the same
 * documents, oldest first, none twice.
 */
import type { App } from "#app/app.ts";
import type { EventType } from "#events/event.ts";
import { type EventDocument, documentOfEvent } from "#jobs/webhooks/report.ts";

const readAtOnce = 1_000;

/** Which events. */
export interface EventChoice {
  readonly types: readonly EventType[] | undefined;
  readonly profile: string | undefined;
}

type Lots = AsyncIterable<readonly EventDocument[]>;

export interface EventSource {
  /** The last so many. @returns `lastId`: nothing up to it comes again */
  last(most: number): Promise<{ events: readonly EventDocument[]; lastId: string }>;
  /** All that there are after an event. */
  after(id: string): Lots;
  /** What comes after an event, until a Ctrl-C. */
  follow(id: string): Lots;
}

export function eventsHere(
  { feed, tail }: Pick<App, "feed" | "tail">,
  choice: EventChoice,
  interrupt: AbortSignal,
): EventSource {
  const known: ReadonlySet<string> | undefined = choice.types && new Set(choice.types);
  const isChosen = ({ type, profile }: EventDocument): boolean =>
    (choice.profile === undefined || profile === "" || profile === choice.profile) &&
    (known === undefined || known.has(type));
  return {
    async last(most) {
      const head = await feed.head();
      const { events } = await feed.newest(choice, { limit: most });
      // What came between the two calls is in the list, and nothing of it comes again.
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
