/**
 * Caches pages of the event stream for followers that are behind. A thousand of them are usually behind by the same events, so
 * one page is read and shared by all that continue after the same event. Only the last few pages are kept.
 */
import type { Event } from "./event.ts";
import { isAfter } from "./event-id.ts";
import type { Feed, FeedPage } from "./feed.ts";

/** Events per page. */
const readAtOnce = 100;
const mostKept = 16;

interface Reading {
  /** Number of reads started before this one. */
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

  /** Number of reads started so far: the `since` argument of `after`. */
  get begun(): number {
    return this.#begun;
  }

  /**
   * The page of the events after a given one.
   * @param since an empty page must come from a read that started after this many reads
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
      // An empty result is valid only at this moment.
      if (page === undefined || page.lastId === id) this.#readings.delete(id);
    }
  }
}

const deps = new WeakMap<FeedPage, Map<number, readonly Event[]>>();

/** The events of a page after a given one; callers with the same arguments share one list. */
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
