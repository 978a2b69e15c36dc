/**
 * Events of a remote worker: its list for the most recent ones, its event stream (server-sent events) for everything after
 * some point. An interrupted stream resumes after the last received event.
 */
import { createParser } from "eventsource-parser";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, secondMs, systemClock } from "#core/time.ts";
import { type EventDocument, listEvents } from "#events/contract.ts";
import { isAfter } from "#events/event-id.ts";
import { beforeAll } from "#events/feed.ts";
import type { EventChoice, EventSource } from "./event-source.ts";
import type { RemoteWorker } from "./remote-worker.ts";

const againAfterMs = 2 * secondMs;
const streamPath = `/v1${listEvents.path}`;

/** @param how `say`: reports to the user that the connection was lost */
export function remoteEvents(
  worker: Pick<RemoteWorker, "client" | "text">,
  { types, profile }: EventChoice,
  how: { interrupt: AbortSignal; say: (text: string) => void; clock?: Clock },
): EventSource {
  const { interrupt, say, clock = systemClock } = how;
  const query = { type: types === undefined ? undefined : [...types], profile };
  const newest = async (limit: number): Promise<readonly EventDocument[]> =>
    (await worker.client.call(listEvents, { query: { ...query, limit } })).events;
  const stream = (id: string): AsyncGenerator<readonly EventDocument[]> =>
    documentsIn(worker.text(streamPath, query, { accept: "text/event-stream", "last-event-id": id }));
  return {
    async last(most) {
      // A page has at most a thousand events, which is enough for a terminal.
      const events = await newest(Math.min(most, 1_000));
      return { events: events.toReversed(), lastId: events[0]?.id ?? beforeAll };
    },
    async *after(id) {
      const [head] = await newest(1);
      if (head === undefined || !isAfter(head.id, id)) return;
      // The stream does not end: stop at the event that was the newest when it started.
      for await (const events of stream(id)) {
        yield events.filter((event) => !isAfter(event.id, head.id));
        if (events.some((event) => !isAfter(head.id, event.id))) return;
      }
      throw new SimfleetError("WORKER_UNREACHABLE", "The worker ended the event stream before the newest event");
    },
    async *follow(id) {
      let lastId = id;
      while (!interrupt.aborted) {
        try {
          for await (const events of stream(lastId)) {
            yield events;
            lastId = events.at(-1)?.id ?? lastId;
          }
        } catch (thrown) {
          if (interrupt.aborted) return;
          if (!(thrown instanceof SimfleetError && thrown.code === "WORKER_UNREACHABLE")) throw thrown;
          say(`${thrown.message}. Trying again …`);
        }
        await clock.sleep(againAfterMs, interrupt).catch(() => undefined);
      }
    },
  };
}

/** The events in the text of a stream, as they arrive; heartbeats have none. */
async function* documentsIn(text: AsyncIterable<string>): AsyncGenerator<readonly EventDocument[]> {
  let documents: EventDocument[] = [];
  const parser = createParser({ onEvent: ({ data }) => documents.push(JSON.parse(data) as EventDocument) });
  for await (const chunk of text) {
    parser.feed(chunk);
    if (documents.length > 0) yield documents;
    documents = [];
  }
}
