/**
 * Durable readers of the event stream. Each is a job that lasts, so one process at a time reads on from the saved
 * position, passes each batch to the handler, and saves the position only after the handler has finished. So every
 * event is delivered at least once and in order. After a crash the last batch is delivered again, and the handler must
 * deduplicate by the event's id. A new reader starts with the events emitted from then on.
 */
import { secondMs } from "#core/time.ts";
import type { Event } from "#events/event.ts";
import { type Feed, pageOf } from "#events/feed.ts";
import { Script } from "#redis/script.ts";
import type { Incident, Working, WorkResult } from "./queue/job-result.ts";
import { namedJobs } from "./queue/named-jobs.ts";
import type { QueueDeps } from "./queue/work-queues.ts";

const savePlace = Script.load(new URL("./save-place.lua", import.meta.url));
const blockMs = 5 * secondMs;
const readAtOnce = 200;

export interface FeedReader {
  /** The position is saved under this name, so it must be the same in every process and never change. */
  readonly name: string;
  readonly atOnce?: number;
  /** May be called again with the same events; errors are reported, and the events delivered again after a pause. */
  readonly handle: (events: readonly Event[]) => Promise<void>;
}

export interface FeedReaderDeps extends QueueDeps {
  readonly feed: Feed;
  readonly onIncident: (incident: Incident) => void;
}

/**
 * Starts reading; the position of a new reader is saved before this returns.
 * @param kind the queue of the readers' jobs
 */
export async function consumeFeed(
  kind: string,
  readers: readonly FeedReader[],
  deps: FeedReaderDeps,
): Promise<Working[]> {
  const { redis, keys, feed, connect, onIncident } = deps;

  const placeOf = async (name: string): Promise<string> => {
    const place = (await redis.hget(keys.feedPlaces(), name)) ?? (await feed.head());
    await redis.hsetnx(keys.feedPlaces(), name, place);
    return place;
  };

  const readOn = async (
    { name, handle, atOnce = readAtOnce }: FeedReader,
    signal: AbortSignal,
  ): Promise<WorkResult> => {
    // A blocking read is ended by closing its connection.
    const reader = connect(`feed-${name}`);
    try {
      let place = await placeOf(name);
      while (!signal.aborted) {
        const read = reader.xread("COUNT", atOnce, "BLOCK", blockMs, "STREAMS", feed.key, place);
        const page = pageOf(place, (await unlessAborted(read, signal))?.[0]?.[1] ?? []);
        if (page.lastId === place) continue;
        if (page.events.length > 0) await handle(page.events);
        const isSaved = (await savePlace.run(redis, [keys.feedPlaces()], [name, place, page.lastId])) === 1;
        place = isSaved ? page.lastId : await placeOf(name);
      }
      return { kind: "handed-back" };
    } finally {
      reader.disconnect();
    }
  };

  for (const { name } of readers) await placeOf(name);
  return namedJobs(kind, deps).consumeAll(readers, {
    work: readOn,
    status: () => Promise.resolve("waiting"),
    onIncident,
  });
}

/** A reader that is disconnected just while it reconnects never answers: whoever stops does not wait for it. */
function unlessAborted<T>(reading: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    const forget = (): void => signal.removeEventListener("abort", abort);
    reading.then(resolve, reject).finally(forget).catch(forget);
  });
}
