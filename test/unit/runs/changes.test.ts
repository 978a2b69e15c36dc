import { expect, it } from "vitest";
import type { Event } from "#events/event.ts";
import { pageOf } from "#events/feed.ts";
import { changeOf } from "#jobs/inventory/endpoints.ts";

/** As the feed returns what a script has emitted. */
function eventOf(type: Event["type"], fields: Event["fields"]): readonly Event[] {
  const pairs = Object.entries({ type, profile: "p", ...fields }).flat();
  return pageOf("0-0", [[`${Date.UTC(2026, 10, 20)}-0`, pairs]]).events;
}

it("a change shows values as stored, and null for a missing value", () => {
  const common = { sim: "894", by: "external", cause: "s-1" };
  const changes = [
    ...eventOf("sim.changed", { ...common, field: "tags.x%20y", before: "=a=b", after: '="quoted"' }),
    ...eventOf("sim.changed", { ...common, field: "count", before: ":7", after: ':{"a":[null]}' }),
    ...eventOf("sim.changed", { ...common, field: "groupId", after: "=" }),
    ...eventOf("sim.changed", { ...common, field: "groupId", before: "=g-1" }),
  ].map(changeOf);
  expect(changes.map(({ field, before, after }) => [field, before, after])).toEqual([
    ["tags.x y", "a=b", '"quoted"'],
    ["count", 7, { a: [null] }],
    ["groupId", null, ""],
    ["groupId", "g-1", null],
  ]);
});

it("a change shows its author, its run or sync, and its time", () => {
  const changes = eventOf("sim.gone", { sim: "894", by: "external", cause: "s-1" }).map(changeOf);
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
