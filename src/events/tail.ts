/**
 * Follows the event stream live. One connection of the process reads the stream and wakes all followers. A follower
 * that has come as far as the last page's start takes that page; any other reads the stream by itself until it has
 * caught up. Each follower receives every event from its position on, in order and once.
 */
import { EventEmitter, once } from "node:events";
import type { Redis } from "ioredis";
import { type Clock, secondMs } from "#core/time.ts";
import type { Event } from "./event.ts";
import { type Feed, type FeedPage, pageOf } from "./feed.ts";

const blockMs = 2 * secondMs;
const readAtOnce = 100;
/** Time after a page that is not full, so that a burst is sent in few pieces, ms. */
const gatherMs = 100;

export type FeedTail = ReturnType<typeof feedTail>;

/** @param deps `connect` opens a dedicated connection for blocking reads */
export function feedTail({ feed, connect, clock }: { feed: Feed; connect: () => Redis; clock: Clock }) {
  const pages = new EventEmitter().setMaxListeners(0);
  /** The page that was read last, and the id that it starts after. */
  let last: { readonly afterId: string; readonly page: FeedPage } | undefined;
  let redis: Redis | undefined;
  let followers = 0;
  /** Resolves once the live read has its position. */
  let started: Promise<void> | undefined;

  /** Stops reading; followers must be ended by their signals. */
  const close = (): void => {
    redis?.disconnect();
    redis = undefined;
    started = undefined;
    last = undefined;
  };
  const isOpen = (reader: Redis): boolean => redis === reader;

  /** Ends when `close` has taken the connection away. */
  const read = async (reader: Redis, headId: string): Promise<void> => {
    let afterId = headId;
    while (isOpen(reader)) {
      try {
        const found = await reader.xread("COUNT", readAtOnce, "BLOCK", blockMs, "STREAMS", feed.key, afterId);
        const page = pageOf(afterId, found?.[0]?.[1] ?? []);
        if (page.lastId === afterId || !isOpen(reader)) continue;
        last = { afterId, page };
        afterId = page.lastId;
        pages.emit("page");
        if (page.events.length < readAtOnce) await clock.sleep(gatherMs);
      } catch {
        if (isOpen(reader)) await clock.sleep(secondMs);
      }
    }
  };

  const start = async (): Promise<void> => {
    redis = connect();
    void read(redis, await feed.head());
  };

  /**
   * Yields events as they arrive, until the signal aborts.
   * @param fromId id of the last known event; without it only new events are yielded
   */
  async function* follow(fromId: string | undefined, signal: AbortSignal): AsyncGenerator<readonly Event[]> {
    followers += 1;
    try {
      // Pages wake from here on, so that nothing is lost between the last page that is read and the first live one.
      await (started ??= start());
      let lastId = fromId ?? (await feed.head());
      while (!signal.aborted) {
        const known = last;
        const page = known?.afterId === lastId ? known.page : await feed.after(lastId, readAtOnce);
        const isAtEnd = page.lastId === lastId;
        lastId = page.lastId;
        if (page.events.length > 0) yield page.events;
        // Another page may have come during the read.
        if (last?.page.lastId === lastId || (isAtEnd && last === known)) {
          await once(pages, "page", { signal }).catch(() => undefined);
        }
      }
    } finally {
      followers -= 1;
      if (followers === 0) close();
    }
  }

  return { follow, close };
}
