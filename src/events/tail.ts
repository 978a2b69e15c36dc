/**
 * Follows the event stream live. One connection of the process reads the stream and hands each page to all followers; a
 * follower that starts in the past, or that does not keep up, reads the stream by itself until it has caught up. Each
 * follower receives every event from its position on, in order and once.
 */
import type { Redis } from "ioredis";
import { type Clock, secondMs } from "#core/time.ts";
import { type Event, isAfter } from "./event.ts";
import { type Feed, type FeedPage, pageOf } from "./feed.ts";

const blockMs = 2 * secondMs;
const readAtOnce = 100;
/** Time after a page that is not full, so that a burst is sent in few pieces, ms. */
const gatherMs = 100;
/** Live pages that wait for a follower; one that leaves more reads the stream by itself. */
const maxWaiting = 16;

interface Follower {
  waiting: FeedPage[];
  isBehind: boolean;
  wake: () => void;
}

export class FeedTail {
  readonly #deps: { readonly feed: Feed; readonly connect: () => Redis; readonly clock: Clock };
  readonly #followers = new Set<Follower>();
  #redis: Redis | undefined;
  /** Resolves once the live read has its position. */
  #started: Promise<void> | undefined;

  /** @param deps `connect` opens a dedicated connection for blocking reads */
  constructor(deps: { feed: Feed; connect: () => Redis; clock: Clock }) {
    this.#deps = deps;
  }

  /**
   * Yields events as they arrive, until the signal aborts.
   * @param fromId id of the last known event; without it only new events are yielded
   */
  async *follow(fromId: string | undefined, signal: AbortSignal): AsyncGenerator<readonly Event[]> {
    const follower: Follower = { waiting: [], isBehind: true, wake: () => undefined };
    const wake = (): void => follower.wake();
    signal.addEventListener("abort", wake);
    this.#followers.add(follower);
    try {
      // Live pages wait from here on, so that nothing is lost between the last page that is read and the first live one.
      await (this.#started ??= this.#start());
      let lastId = fromId ?? (await this.#deps.feed.head());
      while (!signal.aborted) {
        const page = follower.isBehind ? await this.#deps.feed.after(lastId, readAtOnce) : follower.waiting.shift();
        if (page === undefined) {
          await new Promise<void>((resolve) => {
            follower.wake = resolve;
            if (signal.aborted || follower.waiting.length > 0 || follower.isBehind) resolve();
          });
        } else if (page.lastId === lastId) follower.isBehind = false;
        else if (isAfter(page.lastId, lastId)) {
          const events = page.events.filter(({ id }) => isAfter(id, lastId));
          lastId = page.lastId;
          if (events.length > 0) yield events;
        }
      }
    } finally {
      signal.removeEventListener("abort", wake);
      this.#followers.delete(follower);
      if (this.#followers.size === 0) this.close();
    }
  }

  /** Stops reading; followers must be ended by their signals. */
  close(): void {
    this.#redis?.disconnect();
    this.#redis = undefined;
    this.#started = undefined;
  }

  async #start(): Promise<void> {
    const redis = (this.#redis = this.#deps.connect());
    try {
      const headId = await this.#deps.feed.head();
      void this.#read(redis, headId);
    } catch (thrown) {
      if (this.#redis === redis) this.close();
      throw thrown;
    }
  }

  /** Ends when `close` has replaced the connection. */
  async #read(redis: Redis, headId: string): Promise<void> {
    let lastId = headId;
    while (this.#redis === redis) {
      try {
        const read = await redis.xread("COUNT", readAtOnce, "BLOCK", blockMs, "STREAMS", this.#deps.feed.key, lastId);
        const page = pageOf(lastId, read?.[0]?.[1] ?? []);
        if (page.lastId === lastId) continue;
        lastId = page.lastId;
        for (const follower of this.#followers) hand(follower, page);
        if (page.events.length < readAtOnce) await this.#deps.clock.sleep(gatherMs);
      } catch {
        if (this.#redis === redis) await this.#deps.clock.sleep(secondMs);
      }
    }
  }
}

function hand(follower: Follower, page: FeedPage): void {
  if (follower.waiting.length < maxWaiting) follower.waiting.push(page);
  else [follower.waiting, follower.isBehind] = [[], true];
  follower.wake();
}
