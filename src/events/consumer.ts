/**
 * A durable consumer of the event stream: one process at a time reads on from the saved position, passes each batch to
 * the handler, and saves the position only after the handler has finished. So every event is delivered at least once
 * and in order. After a crash the last batch is delivered again, and the handler must deduplicate by the event's id. A
 * new consumer starts with the events emitted from then on.
 */
import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { messageOf } from "#core/errors.ts";
import { type Clock, every, secondMs } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import type { Event } from "./event.ts";
import { type Feed, type FeedPage, pageOf } from "./feed.ts";

const savePlace = Script.load(new URL("./save-place.lua", import.meta.url));
/** Lease duration: after a process is killed, another one takes over after this time. */
const leaseMs = 6 * secondMs;
const renewMs = 2 * secondMs;
const blockMs = 5 * secondMs;
const readAtOnce = 200;

export interface FeedConsumerOptions {
  /** The position is saved under this name, so it must be the same in every process and never change. */
  readonly name: string;
  readonly feed: Feed;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  /** Opens a dedicated connection for blocking reads. */
  readonly connect: (name: string) => Redis;
  readonly atOnce?: number;
  /** May be called again with the same events; errors are reported, and the events delivered again after a pause. */
  readonly handle: (events: readonly Event[], signal: AbortSignal) => Promise<void>;
  readonly onIncident: (message: string) => void;
}

/** Starts reading; a new consumer's position is saved before this returns. */
export async function consumeFeed(options: FeedConsumerOptions) {
  const { redis, keys, name, feed, clock, connect, handle, onIncident, atOnce = readAtOnce } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const token = randomUUID();
  const lease = keys.feedLease(name);
  let reader: Redis | undefined;

  /** Saves the position and renews the lease. Returns false if another process has the lease. */
  const save = async (place: string, livesMs = leaseMs): Promise<boolean> =>
    (await savePlace.run(redis, [lease, keys.feedPlaces()], [token, livesMs, name, place])) === 1;

  const next = async (from: Redis, place: string): Promise<FeedPage> => {
    const read = await from.xread("COUNT", atOnce, "BLOCK", blockMs, "STREAMS", feed.key, place);
    return pageOf(place, read?.[0]?.[1] ?? []);
  };

  /** Ends when the lease is lost, or throws the error of `handle`. */
  const readOn = async (): Promise<void> => {
    const lost = new AbortController();
    const from = (reader ??= connect(`feed-${name}`));
    const stopRenewing = every(renewMs, () => {
      save("").then(
        (isHeld) => (isHeld ? undefined : lost.abort(new Error("another process reads on"))),
        () => undefined,
      );
    });
    try {
      let place = (await redis.hget(keys.feedPlaces(), name)) ?? (await feed.head());
      while (!signal.aborted && !lost.signal.aborted) {
        const page = await orAborted(next(from, place), signal);
        if (page.lastId === place) continue;
        if (page.events.length > 0) await handle(page.events, AbortSignal.any([signal, lost.signal]));
        if (!(await save(page.lastId))) return;
        place = page.lastId;
      }
    } finally {
      stopRenewing();
      await save("", 0).catch(() => false);
    }
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        if ((await redis.set(lease, token, "PX", leaseMs, "NX")) === "OK") await readOn();
      } catch (thrown) {
        if (!signal.aborted) onIncident(`events wait for ${name}: ${messageOf(thrown)}`);
      }
      await clock.sleep(secondMs, signal).catch(() => undefined);
    }
  };

  await redis.hsetnx(keys.feedPlaces(), name, await feed.head());
  const reading = run();
  /** Finishes the current batch, then releases the lease. */
  const stop = async (): Promise<void> => {
    stopping.abort(new Error("this process is stopping"));
    reader?.disconnect();
    await reading;
  };
  return { stop };
}

/** A reader that is disconnected just while it reconnects never answers: whoever stops does not wait for it. */
function orAborted<T>(reading: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    const forget = (): void => signal.removeEventListener("abort", abort);
    reading.then(resolve, reject).finally(forget).catch(forget);
  });
}
