/**
 * The live end of the feed in one process: however many look on, Redis is read once. Whoever follows gets every event
 * from a point on, in order, none twice. One that is slow is not buffered for: it falls back to reading the feed itself
 * at its own pace, so that a thousand of them cost no memory.
 */
import type { Redis } from "ioredis";
import { type Clock, secondMs } from "#core/time.ts";
import type { Event } from "./event.ts";
import { type Feed, type FeedPage, pageOf } from "./feed.ts";

const blockMs = 2 * secondMs;
const readAtOnce = 100;
/** A follower that is behind reads so many: what it reads is its own, and there may be a thousand of them. */
const catchUpAtOnce = 50;
/** Pages that wait for a follower; with more it reads the feed itself. */
const mostWaiting = 16;

interface Follower {
  /** What it was told and has not taken; undefined once that was too much. */
  waiting: FeedPage[] | undefined;
  /** It still reads the feed itself. */
  isBehind: boolean;
  wake: () => void;
}

export class FeedTail {
  readonly #feed: Feed;
  readonly #clock: Clock;
  readonly #connect: () => Redis;
  readonly #followers = new Set<Follower>();
  #redis: Redis | undefined;
  #isReading = false;
  #headId = "";

  /** @param house `connect` opens a connection that blocks, for nobody else's use */
  constructor(house: { feed: Feed; connect: () => Redis; clock: Clock }) {
    this.#feed = house.feed;
    this.#connect = house.connect;
    this.#clock = house.clock;
  }

  /**
   * Every event after one, as they come, until the signal aborts.
   * @param fromId of the last event that is known; without it only what comes from now on
   */
  async *follow(fromId: string | undefined, signal: AbortSignal): AsyncGenerator<readonly Event[]> {
    const follower: Follower = { waiting: undefined, isBehind: true, wake: () => undefined };
    let lastId = fromId ?? (await this.#feed.head());
    const onAbort = (): void => follower.wake();
    signal.addEventListener("abort", onAbort);
    this.#followers.add(follower);
    try {
      while (!signal.aborted) {
        const page = await this.#next(follower, lastId, signal);
        const events = page.events.filter(({ id }) => isAfter(id, lastId));
        if (isAfter(page.lastId, lastId)) lastId = page.lastId;
        if (events.length > 0) yield events;
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#followers.delete(follower);
    }
  }

  /** The next stretch: read from the feed while the follower is behind, and what was told to it from then on. */
  async #next(follower: Follower, lastId: string, signal: AbortSignal): Promise<FeedPage> {
    if (follower.waiting === undefined) {
      // What comes while the feed is read waits; what is in both is passed over by its id.
      follower.waiting = [];
      follower.isBehind = true;
      this.#read();
    }
    if (follower.isBehind) {
      const page = await this.#feed.after(lastId, catchUpAtOnce);
      if (page.lastId !== lastId) return page;
      follower.isBehind = false;
    }
    const told = follower.waiting.shift();
    if (told !== undefined) return told;
    await new Promise<void>((resolve) => {
      follower.wake = resolve;
      if (follower.waiting?.length !== 0 || signal.aborted) resolve();
    });
    return { events: [], lastId };
  }

  /** Ends the reading; those who follow are to be ended by their signals. */
  close(): void {
    this.#redis?.disconnect();
    this.#redis = undefined;
  }

  #read(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    // What it throws, when Redis closes just then, whoever follows meets by itself.
    const reading = this.#readOn().catch(() => undefined);
    void reading.finally(() => {
      this.#isReading = false;
      this.close();
      // A gap between the last page and the end of the reading is closed by reading the feed.
      for (const follower of this.#followers) leaveBehind(follower);
    });
  }

  /** Ends when nobody follows any more. */
  async #readOn(): Promise<void> {
    this.#headId = await this.#feed.head();
    const redis = (this.#redis = this.#connect());
    while (this.#followers.size > 0 && this.#redis === redis) {
      try {
        const id = this.#headId;
        const read = await redis.xread("COUNT", readAtOnce, "BLOCK", blockMs, "STREAMS", this.#feed.key, id);
        const page = pageOf(id, read?.[0]?.[1] ?? []);
        this.#headId = page.lastId;
        if (page.lastId !== id) this.#tell(page);
      } catch {
        if (this.#redis !== redis) return;
        await this.#clock.sleep(secondMs);
      }
    }
  }

  #tell(page: FeedPage): void {
    for (const follower of this.#followers) {
      if (follower.waiting === undefined) continue;
      if (follower.waiting.length < mostWaiting) {
        follower.waiting.push(page);
        follower.wake();
      } else leaveBehind(follower);
    }
  }
}

function leaveBehind(follower: Follower): void {
  follower.waiting = undefined;
  follower.wake();
}

/** Whether an event came after another: ids are `milliseconds-number`. */
export function isAfter(id: string, other: string): boolean {
  const [ms = 0, number = 0] = id.split("-").map(Number);
  const [otherMs = 0, otherNumber = 0] = other.split("-").map(Number);
  return ms > otherMs || (ms === otherMs && number > otherNumber);
}
