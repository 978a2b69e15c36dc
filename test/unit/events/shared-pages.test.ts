/** Those who are behind share what is read for them, and learn that nothing has come only from a read of their own time. */
import { describe, expect, it } from "vitest";
import type { Event } from "#events/event.ts";
import type { FeedPage } from "#events/feed.ts";
import { SharedPages, eventsAfter } from "#events/shared-pages.ts";

const eventOf = (n: number): Event => ({
  id: `1-${n}`,
  type: "sync.failed",
  atMs: 1,
  profile: "default",
  fields: {
    cause: String(n),
    reason: "why",
  },
});
const upTo = (last: number, from: number): Event[] =>
  Array.from({ length: last - from + 1 }, (_, i) => eventOf(from + i));

/** A feed of events 1 to `last`, whose answers come when they are released. */
function openFeed(last: number): { pages: SharedPages; emit: () => void; answer: () => void; asked: string[] } {
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  const state = { last };
  const after = (id: string, limit: number): Promise<FeedPage> => {
    asked.push(id);
    const from = Number(id.split("-")[1]) + 1;
    // What there is at the moment of asking, as with Redis.
    const events = upTo(Math.min(state.last, from + limit - 1), from);
    return new Promise((resolve) => waiting.push(() => resolve({ events, lastId: events.at(-1)?.id ?? id })));
  };
  const answer = (): void => waiting.splice(0).forEach((go) => go());
  return { pages: new SharedPages({ after }), emit: () => void (state.last += 1), answer, asked };
}

describe("shared pages for event streams that are behind", () => {
  it("a page is read once for all streams that need it, now or later", async () => {
    const { pages, answer, asked } = openFeed(200);
    const asking = Array.from({ length: 1_000 }, () => pages.after("1-0", pages.begun));
    answer();
    const [first, ...others] = await Promise.all(asking);
    expect(first?.events.length).toBe(100);
    expect(new Set(others)).toEqual(new Set([first]));
    expect(await pages.after("1-0", pages.begun)).toBe(first);
    expect(asked).toEqual(["1-0"]);
  });

  it("only the most recent pages are kept", async () => {
    const { pages, answer, asked } = openFeed(2_000);
    for (let n = 0; n <= 16; n += 1) {
      const asking = pages.after(`1-${n}`, pages.begun);
      answer();
      await asking;
    }
    const again = pages.after("1-0", pages.begun);
    answer();
    await again;
    expect(asked.filter((id) => id === "1-0").length).toBe(2);
    await pages.after("1-16", pages.begun);
    expect(asked.filter((id) => id === "1-16").length).toBe(1);
  });

  it("an empty page is reused only if it was read after the stream started listening", async () => {
    const { pages, emit, answer, asked } = openFeed(3);
    const early = pages.after("1-3", pages.begun);
    // The fourth comes after the first reading was begun and before the second follower listens: nobody reports it to it.
    emit();
    const late = pages.after("1-3", pages.begun);
    answer();
    expect((await early).events).toEqual([]);
    await Promise.resolve();
    answer();
    expect((await late).events.map(({ id }) => id)).toEqual(["1-4"]);
    expect(asked).toEqual(["1-3", "1-3"]);
  });

  it("a page is read again after a failure", async () => {
    let isBroken = true;
    const after = (id: string): Promise<FeedPage> =>
      isBroken
        ? Promise.reject(new Error("gone"))
        : Promise.resolve({ events: [eventOf(1)], lastId: id.replace("0", "1") });
    const pages = new SharedPages({ after });
    await expect(pages.after("1-0", 0)).rejects.toThrow("gone");
    isBroken = false;
    expect((await pages.after("1-0", 0)).events.length).toBe(1);
  });
});

describe("the events of a page after an id", () => {
  const page: FeedPage = { events: upTo(20, 5), lastId: "1-20" };

  it("the events of a page after an id are the same list for all streams", () => {
    expect(eventsAfter(page, "1-4")).toBe(page.events);
    expect(eventsAfter(page, "1-12")).toBe(eventsAfter(page, "1-12"));
  });

  it("the events of a page after an id are exactly those that follow it", () => {
    for (let n = 0; n <= 25; n += 1) {
      const expected = page.events.filter(({ id }) => Number(id.split("-")[1]) > n);
      expect(eventsAfter(page, `1-${n}`)).toEqual(expected);
    }
    expect(eventsAfter({ events: [], lastId: "1-3" }, "1-1")).toEqual([]);
  });
});
