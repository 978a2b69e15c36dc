/** Events are encoded once for all streams that want the same of them. */
import { expect, test } from "vitest";
import type { Event, EventType } from "#events/event.ts";
import { type EventSelection, EventFrames } from "#http/events/event-frames.ts";

const eventOf = (n: number, type: EventType, profile: string): Event => ({
  id: `1-${n}`,
  type,
  atMs: 1,
  profile,
  fields: { cause: `größer-${n}` },
});
const events = [
  eventOf(1, "sync.failed", "default"),
  eventOf(2, "sync.failed", "plant"),
  eventOf(3, "sync.completed", "default"),
  eventOf(4, "sync.completed", ""),
];
const all: EventSelection = { types: undefined, profile: undefined };
const idsOf = (bytes: Buffer | undefined): string[] =>
  [...(bytes?.toString() ?? "").matchAll(/^id: (.*)$/gm)].map(([, id = ""]) => id);

test("event streams with the same selection share the same bytes", () => {
  const frames = new EventFrames();
  const bytes = frames.of(events, all);
  expect(idsOf(bytes)).toEqual(["1-1", "1-2", "1-3", "1-4"]);
  expect(frames.of(events, { ...all })).toBe(bytes);
  const chosen = frames.of(events, { types: ["sync.failed"], profile: "plant" });
  expect(frames.of(events, { types: ["sync.failed"], profile: "plant" })).toBe(chosen);
  // A choice that leaves nothing out is no other one.
  expect(frames.of(events, { types: ["sync.failed", "sync.completed"], profile: undefined })).toBe(bytes);
});

test("an event stream gets its selected events and those that concern every account", () => {
  const frames = new EventFrames();
  const of = (choice: Partial<EventSelection>): string[] => idsOf(frames.of(events, { ...all, ...choice }));
  // Twice: made the first time, kept the second.
  for (let times = 0; times < 2; times += 1) {
    expect(of({ types: ["sync.completed"] })).toEqual(["1-3", "1-4"]);
    expect(of({ profile: "plant" })).toEqual(["1-2", "1-4"]);
    expect(of({ types: ["sync.failed"], profile: "default" })).toEqual(["1-1"]);
    expect(frames.of(events, { types: ["run.paused"], profile: undefined })).toBeUndefined();
  }
});

test("an event frame has the id, type, and JSON document of its event", () => {
  const bytes = new EventFrames().of(events.slice(0, 1), all);
  expect(bytes?.toString()).toBe(
    'id: 1-1\nevent: sync.failed\ndata: {"id":"1-1","type":"sync.failed","at":"1970-01-01T00:00:00.001Z","profile":"default","fields":{"cause":"größer-1"}}\n\n',
  );
});

test("event frames for additional selections are correct but not cached", () => {
  const frames = new EventFrames();
  const of = (n: number): Buffer | undefined => frames.of(events, { types: ["sync.completed"], profile: `p${n}` });
  for (let n = 0; n < 50; n += 1) expect(idsOf(of(n))).toEqual(["1-4"]);
  expect(of(0)).toBe(of(0));
  expect(of(49)).not.toBe(of(49));
  const whole = frames.of(events, all);
  expect(frames.of(events, all)).toBe(whole);
});
