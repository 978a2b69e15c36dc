/**
 * Follows the event stream live: Redis is read once per process, however many followers there are. Each follower receives every
 * event from a position on, in order and without duplicates. All receive the same lists of events, so that the encoded
 * form can be shared. Nothing is buffered for a slow follower: it reads the stream at its own pace, so a thousand slow
 * followers use no memory.
 */
import type { Redis } from "ioredis";
import { type Clock, secondMs } from "#core/time.ts";
import type { Event } from "./event.ts";
import { isAfter } from "./event-id.ts";
import { type Feed, type FeedPage, pageOf } from "./feed.ts";
import { SharedPages, eventsAfter } from "./shared-pages.ts";

const blockMs = 2 * secondMs;
const readAtOnce = 100;
/** After a page that is not full, events are collected for this long, so that a burst is sent in few pieces. */
const gatherMs = 100;
/** Pages that may wait for a follower; beyond that it reads the stream itself. */
const mostWaiting = 16;

/** A page from the live read. */
interface EncodedPage extends FeedPage {
  /** Id of the previous event. */
  readonly afterId: string;
}

interface Follower {
  /** Live pages that it has not taken yet; undefined after an overflow. */
  waiting: EncodedPage[] | undefined;
  /** Whether it still reads the stream itself. */
  isBehind: boolean;
  /** Number of reads started before live pages began to wait for it. */
  readingsBefore: number;
  /** Id of the last event that it received; undefined until known. */
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

  /** @param deps `connect` opens a dedicated connection for blocking reads */
  constructor(deps: { feed: Feed; connect: () => Redis; clock: Clock }) {
    this.#feed = deps.feed;
    this.#connect = deps.connect;
    this.#clock = deps.clock;
    this.#pages = new SharedPages(deps.feed);
  }

  /**
   * Yields events as they arrive, until the signal aborts. It is not a generator, since a generator would keep its last events
   * in memory while a slow follower does not come back.
   * @param fromId id of the last known event; without it only new events are yielded
   */
  follow(fromId: string | undefined, signal: AbortSignal): AsyncIterableIterator<readonly Event[]> {
    const follower: Follower = {
      waiting: undefined,
      isBehind: true,
      readingsBefore: 0,
      lastId: fromId,
      signal,
      wake: () => undefined,
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
   * The next page: read from the stream while the follower is behind, and from the live pages afterwards.
   * @returns undefined if it must check again
   */
  async #next(follower: Follower, lastId: string): Promise<FeedPage | undefined> {
    if (follower.waiting === undefined) {
      // Live pages wait while the stream is read; duplicates are skipped by id.
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

  /** Stops reading; followers must be ended by their signals. */
  close(): void {
    this.#redis?.disconnect();
    this.#redis = undefined;
  }

  #read(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    // If it throws because Redis is closing, each follower meets the error itself.
    const reading = this.#readOn().catch(() => undefined);
    void reading.finally(() => {
      this.#isReading = false;
      this.close();
      // Followers read the stream to close a gap between the last page and the end of this read.
      for (const follower of this.#followers) leaveBehind(follower);
    });
  }

  /** Ends when there are no followers. */
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
