/**
 * Pages of the feed for those who are behind. A thousand of them are mostly behind by the same events, so that one page is
 * read and kept for all who ask for what comes after the same one: the last few pages, and no more, however many ask.
 */
import type { Event } from "./event.ts";
import { isAfter } from "./event-id.ts";
import type { Feed, FeedPage } from "./feed.ts";

/** Events of a page. */
const readAtOnce = 100;
const mostKept = 16;

interface Reading {
  /** How many were begun before it. */
  readonly number: number;
  readonly page: Promise<FeedPage>;
}

export class SharedPages {
  readonly #feed: Pick<Feed, "after">;
  readonly #readings = new Map<string, Reading>();
  #begun = 0;

  constructor(feed: Pick<Feed, "after">) {
    this.#feed = feed;
  }

  /** How many readings were begun until now: what `after` takes as `since`. */
  get begun(): number {
    return this.#begun;
  }

  /**
   * A page of the events after one.
   * @param since a page is empty only by a reading that was begun after this many
   */
  async after(id: string, since: number): Promise<FeedPage> {
    for (;;) {
      const { number, page } = this.#readings.get(id) ?? this.#begin(id);
      const read = await page;
      if (read.lastId !== id || number >= since) return read;
    }
  }

  #begin(id: string): Reading {
    const reading = { number: this.#begun, page: this.#read(id) };
    this.#begun += 1;
    this.#readings.set(id, reading);
    for (const oldest of this.#readings.keys()) {
      if (this.#readings.size <= mostKept) break;
      this.#readings.delete(oldest);
    }
    return reading;
  }

  async #read(id: string): Promise<FeedPage> {
    let page: FeedPage | undefined;
    try {
      return (page = await this.#feed.after(id, readAtOnce));
    } finally {
      // That nothing has come yet holds for this moment alone.
      if (page === undefined || page.lastId === id) this.#readings.delete(id);
    }
  }
}

const deps = new WeakMap<FeedPage, Map<number, readonly Event[]>>();

/** Those of a page's events that came after one: for all who ask the same, the very same list. */
export function eventsAfter(page: FeedPage, id: string): readonly Event[] {
  const { events } = page;
  let from = 0;
  for (let to = events.length; from < to;) {
    const middle = (from + to) >>> 1;
    if (isAfter(events[middle]?.id ?? "", id)) to = middle;
    else from = middle + 1;
  }
  if (from === 0) return events;
  let ofPage = deps.get(page);
  if (ofPage === undefined) deps.set(page, (ofPage = new Map<number, readonly Event[]>()));
  let part = ofPage.get(from);
  if (part === undefined) ofPage.set(from, (part = events.slice(from)));
  return part;
}
