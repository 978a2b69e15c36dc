/**
 * The live end of the feed in one process: however many look on, Redis is read once. Whoever follows gets every event
 * from a point on, in order, none twice, and all get the same lists of events, so that what is made of one can be shared.
 * One that is slow is not buffered for: it falls back to reading the feed at its own pace, so that a thousand of them cost
 * no memory.
 */
import type { Redis } from "ioredis";
import { type Clock, secondMs } from "#core/time.ts";
import type { Event } from "./event.ts";
import { isAfter } from "./event-id.ts";
import { type Feed, type FeedPage, pageOf } from "./feed.ts";
import { SharedPages, eventsAfter } from "./shared-pages.ts";

const blockMs = 2 * secondMs;
const readAtOnce = 100;
/** After a page that is not full, what comes gathers for so long, so that a flood is sent in few pieces. */
const gatherMs = 100;
/** Pages that wait for a follower; with more it reads the feed itself. */
const mostWaiting = 16;

/** A page that was read live. */
interface EncodedPage extends FeedPage {
  /** Of the event before it. */
  readonly afterId: string;
}

interface Follower {
  /** What it was told and has not taken; undefined once that was too much. */
  waiting: EncodedPage[] | undefined;
  /** It still reads the feed itself. */
  isBehind: boolean;
  /** Readings of the feed that were begun before what comes began to wait for it. */
  readingsBefore: number;
  /** Of the last event that it has; undefined until that is known. */
  lastId: string | undefined;
  readonly signal: AbortSignal;
  wake: () => void;
}

export class FeedTail {
  readonly #feed: Feed;
  readonly #clock: Clock;
  readonly #connect: () => Redis;
  readonly #pages: SharedPages;
  readonly #followers = new Set<Follower>();
  #redis: Redis | undefined;
  #isReading = false;
  #headId = "";

  /** @param house `connect` opens a connection that blocks, for nobody else's use */
  constructor(deps: { feed: Feed; connect: () => Redis; clock: Clock }) {
    this.#feed = deps.feed;
    this.#connect = deps.connect;
    this.#clock = deps.clock;
    this.#pages = new SharedPages(deps.feed);
  }

  /**
   * Every event after one, as they come, until the signal aborts. It is no generator: that would hold on to the events
   * which it gave last for as long as a slow follower does not come back.
   * @param fromId of the last event that is known; without it only what comes from now on
   */
  follow(fromId: string | undefined, signal: AbortSignal): AsyncIterableIterator<readonly Event[]> {
    const follower: Follower = {
      ...{ waiting: undefined, isBehind: true, readingsBefore: 0 },
      ...{ lastId: fromId, signal, wake: () => undefined },
    };
    const leave = (): void => {
      this.#followers.delete(follower);
      follower.waiting = undefined;
      follower.wake();
    };
    if (!signal.aborted) this.#followers.add(follower);
    signal.addEventListener("abort", leave, { once: true });
    const iterator: AsyncIterableIterator<readonly Event[]> = {
      next: () => this.#take(follower),
      return: () => {
        signal.removeEventListener("abort", leave);
        leave();
        return Promise.resolve({ done: true, value: undefined });
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  async #take(follower: Follower): Promise<IteratorResult<readonly Event[], undefined>> {
    try {
      while (this.#followers.has(follower)) {
        const lastId = (follower.lastId ??= await this.#feed.head());
        const page = await this.#next(follower, lastId);
        if (page === undefined || !isAfter(page.lastId, lastId)) continue;
        follower.lastId = page.lastId;
        const events = eventsAfter(page, lastId);
        if (events.length > 0) return { done: false, value: events };
      }
      return { done: true, value: undefined };
    } catch (thrown) {
      this.#followers.delete(follower);
      throw thrown;
    }
  }

  /**
   * The next stretch: read from the feed while the follower is behind, and what was told to it from then on.
   * @returns undefined when it is to look again
   */
  async #next(follower: Follower, lastId: string): Promise<FeedPage | undefined> {
    if (follower.waiting === undefined) {
      // What comes while the feed is read waits; what is in both is passed over by its id.
      follower.waiting = [];
      follower.isBehind = true;
      follower.readingsBefore = this.#pages.begun;
      this.#read();
    }
    const reported = follower.waiting[0];
    if (reported !== undefined && !isAfter(reported.afterId, lastId)) follower.isBehind = false;
    if (follower.isBehind) {
      const page = await this.#pages.after(lastId, follower.readingsBefore);
      if (page.lastId === lastId) follower.isBehind = false;
      return page;
    }
    if (reported !== undefined) return follower.waiting.shift();
    await new Promise<void>((resolve) => {
      follower.wake = resolve;
      if (follower.signal.aborted) resolve();
    });
    return undefined;
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
        if (page.lastId !== id) this.#emit({ ...page, afterId: id });
        if (page.events.length < readAtOnce && page.lastId !== id) await this.#clock.sleep(gatherMs);
      } catch {
        if (this.#redis !== redis) return;
        await this.#clock.sleep(secondMs);
      }
    }
  }

  #emit(page: EncodedPage): void {
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
