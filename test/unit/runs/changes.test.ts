import { describe, expect, it } from "vitest";
import type { Event } from "#events/event.ts";
import { type EventQuery, type Feed, pageOf } from "#events/feed.ts";
import { changesOf } from "#jobs/inventory/endpoints.ts";
import { changeTypes } from "#jobs/inventory/contract.ts";

/** Answers with these events and remembers what it was asked. */
function feedOf(events: readonly Event[]) {
  const asked: EventQuery[] = [];
  const newest = (query: EventQuery) => {
    asked.push(query);
    return Promise.resolve({ events: [...events], nextCursor: null });
  };
  return { asked, feed: { newest } as unknown as Feed };
}

/** As the feed returns what a script has emitted. */
function eventOf(type: Event["type"], fields: Event["fields"]): readonly Event[] {
  const pairs = Object.entries({ type, profile: "p", ...fields }).flat();
  return pageOf("0-0", [[`${Date.UTC(2026, 10, 20)}-0`, pairs]]).events;
}

describe("the list of changes", () => {
  it("a change shows values as stored, and null for a missing value", async () => {
    const common = { sim: "894", by: "external", cause: "s-1" };
    const { feed } = feedOf([
      ...eventOf("sim.changed", { ...common, field: "tags.x%20y", before: "=a=b", after: '="quoted"' }),
      ...eventOf("sim.changed", { ...common, field: "count", before: ":7", after: ':{"a":[null]}' }),
      ...eventOf("sim.changed", { ...common, field: "groupId", after: "=" }),
      ...eventOf("sim.changed", { ...common, field: "groupId", before: "=g-1" }),
    ]);
    const { changes } = await changesOf(feed, { profile: "p" }, { limit: 10 });
    expect(changes.map(({ field, before, after }) => [field, before, after])).toEqual([
      ["tags.x y", "a=b", '"quoted"'],
      ["count", 7, { a: [null] }],
      ["groupId", null, ""],
      ["groupId", "g-1", null],
    ]);
  });

  it("a change shows its author, its run or sync, and its time", async () => {
    const { feed } = feedOf(eventOf("sim.gone", { sim: "894", by: "external", cause: "s-1" }));
    const { changes } = await changesOf(feed, { profile: "p" }, { limit: 10 });
    expect(changes).toEqual([
      {
        id: `${Date.UTC(2026, 10, 20)}-0`,
        at: "2026-11-20T00:00:00.000Z",
        type: "sim.gone",
        sim: "894",
        by: "external",
        cause: "s-1",
      },
    ]);
  });

  it("changes are queried by field name and limited to inventory events", async () => {
    const { feed, asked } = feedOf([]);
    await changesOf(feed, { profile: "p", field: "tags.x y", by: "run", sinceMs: 5 }, { limit: 1 });
    await changesOf(feed, { profile: "p", types: ["sim.added"], sim: "894" }, { limit: 1 });
    expect(asked).toEqual([
      { profile: "p", types: changeTypes, sinceMs: 5, fields: { field: "tags.x y", by: "run" } },
      { profile: "p", types: ["sim.added"], fields: { sim: "894" } },
    ]);
    expect(changeTypes.every((type) => type.startsWith("sim."))).toBe(true);
  });
});
