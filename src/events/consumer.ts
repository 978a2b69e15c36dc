/**
 * A durable reader of the feed: among all processes one at a time reads on where the last one stopped, hands each stretch
 * over, and saves the place only after it was handled. So every event is handed over at least once and in order; after a
 * crash the last stretch comes again, and whoever handles it has to do the same thing once by the event's id. A consumer
 * that is new begins with what happens from then on.
 */
import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { messageOf } from "#core/errors.ts";
import { type Clock, every, secondMs } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import type { Event } from "./event.ts";
import { type Feed, pageOf } from "./feed.ts";

const savePlace = Script.load(new URL("./save-place.lua", import.meta.url));
/** A process that was killed is followed by another after so long. */
const leaseMs = 6 * secondMs;
const renewMs = 2 * secondMs;
const blockMs = secondMs;
const readAtOnce = 200;

export interface FeedConsumerOptions {
  /** The same in every process, and for good: the place is saved under it. */
  readonly name: string;
  readonly feed: Feed;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  /** Opens a connection that blocks, for nobody else's use. */
  readonly connect: (name: string) => Redis;
  /** Events that are handed over at once, at most. */
  readonly atOnce?: number;
  /** May come again with the same events; what it throws is told, and the events come again after a pause. */
  readonly handle: (events: readonly Event[], signal: AbortSignal) => Promise<void>;
  readonly onIncident: (message: string) => void;
}

export class FeedConsumer {
  readonly #options: FeedConsumerOptions;
  readonly #stopping = new AbortController();
  readonly #token = randomUUID();
  readonly #lease: string;
  #reader: Redis | undefined;
  #reading: Promise<void> = Promise.resolve();

  private constructor(options: FeedConsumerOptions) {
    this.#options = options;
    this.#lease = options.keys.feedLease(options.name);
  }

  /** Begins to read; a new consumer's place is set before this returns. */
  static async start(options: FeedConsumerOptions): Promise<FeedConsumer> {
    const consumer = new FeedConsumer(options);
    const { redis, keys, name, feed } = options;
    await redis.hsetnx(keys.feedPlaces(), name, await feed.head());
    consumer.#reading = consumer.#run();
    return consumer;
  }

  /** Hands over what it is at, then gives the lease back. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("this process is stopping"));
    this.#reader?.disconnect();
    await this.#reading;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        if (await this.#takeLease()) await this.#readOn(signal);
      } catch (thrown) {
        if (!signal.aborted) this.#options.onIncident(`events wait for ${this.#options.name}: ${messageOf(thrown)}`);
      }
      await this.#options.clock.sleep(secondMs, signal).catch(() => undefined);
    }
  }

  async #takeLease(): Promise<boolean> {
    return (await this.#options.redis.set(this.#lease, this.#token, "PX", leaseMs, "NX")) === "OK";
  }

  /** Ends when the lease is lost, or with what `handle` throws. */
  async #readOn(signal: AbortSignal): Promise<void> {
    const { redis, keys, name, feed, handle } = this.#options;
    const lost = new AbortController();
    this.#reader ??= this.#options.connect(`feed-${name}`);
    const stopRenewing = every(renewMs, () => {
      this.#save("").then(
        (isHeld) => (isHeld ? undefined : lost.abort(new Error("another process reads on"))),
        () => undefined,
      );
    });
    try {
      let place = (await redis.hget(keys.feedPlaces(), name)) ?? (await feed.head());
      while (!signal.aborted && !lost.signal.aborted) {
        const page = await this.#next(place);
        if (page.lastId === place) continue;
        if (page.events.length > 0) await handle(page.events, AbortSignal.any([signal, lost.signal]));
        if (!(await this.#save(page.lastId))) return;
        place = page.lastId;
      }
    } finally {
      stopRenewing();
      await this.#save("", 0).catch(() => false);
    }
  }

  async #next(place: string): Promise<ReturnType<typeof pageOf>> {
    const { feed, atOnce = readAtOnce } = this.#options;
    const read = await this.#reader?.xread("COUNT", atOnce, "BLOCK", blockMs, "STREAMS", feed.key, place);
    return pageOf(place, read?.[0]?.[1] ?? []);
  }

  /** False when another process has the lease. */
  async #save(place: string, livesMs = leaseMs): Promise<boolean> {
    const { redis, keys, name } = this.#options;
    return (await savePlace.run(redis, [this.#lease, keys.feedPlaces()], [this.#token, livesMs, name, place])) === 1;
  }
}
