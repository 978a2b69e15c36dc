import { describe, expect, it } from "vitest";
import type { Events } from "#events/event.ts";
import { textOfSentence } from "#events/sentence.ts";
import { features } from "#features.ts";
import { groupedEvents, sentenceOf, typesOf } from "../../../web/src/pure/events/sentences.ts";
import { eventKinds, eventSentences, failureTypes } from "../../../web/src/pure/events/event-texts.ts";

const said = (type: string, fields: Record<string, string>): string => textOfSentence(sentenceOf({ type, fields }));

const all: Events = Object.fromEntries(features.flatMap(({ events = {} }) => Object.entries(events)));

describe("events as sentences", () => {
  it("every event of the catalog has a sentence, made of its own fields, and a kind", () => {
    expect(Object.keys(eventSentences).toSorted()).toEqual(Object.keys(all).toSorted());
    for (const [type, sentence] of Object.entries(eventSentences)) {
      const fields = Object.keys(all[type]?.fields ?? {});
      const named = [...sentence.matchAll(/\{(\w+)\+?\}/g)].map(([, name]) => name);
      expect([type, named.filter((name) => !fields.includes(name ?? ""))]).toEqual([type, []]);
      expect(Object.keys(eventKinds)).toContain(type.split(".", 1)[0]);
    }
    expect(failureTypes.filter((type) => !(type in eventSentences))).toEqual([]);
  });

  it("a sentence leaves out what is empty, and shows a dash where it cannot", () => {
    const counts = { total: "40", done: "38", failed: "2", rejected: "0", unknown: "" };
    expect(said("run.completed", { run: "r-1", name: "night", ...counts })).toBe(
      "Run r-1 “night” completed: 38 of 40 rows done, 2 failed",
    );
    expect(said("run.paused", { run: "r-1" })).toBe("Run r-1 was paused");
    expect(said("sync.completed", { sims: "9", added: "1", changed: "0" })).toBe(
      "A sync read 9 SIMs: 1 new, 0 changed, – gone",
    );
    expect(said("own.event", { a: "b" })).toBe("own.event a b");
  });

  it("the kinds of a filter become types of events", () => {
    expect(typesOf(["sync", "freeze"])).toEqual(["freeze.started", "freeze.ended", "sync.completed", "sync.failed"]);
  });

  const event = (id: string, type: string, cause?: string) => ({
    id,
    type,
    at: "2026-11-22T00:00:00Z",
    profile: "default",
    fields: cause === undefined ? {} : { cause },
  });

  it("changes of SIMs are grouped under the run or sync that caused them, in the place of the newest", () => {
    const entries = groupedEvents([
      event("5", "sim.changed", "r-1"),
      event("4", "run.paused"),
      event("3", "sim.changed", "s-1"),
      event("2", "sim.added", "r-1"),
    ]);
    expect(entries.map((entry) => ("event" in entry ? entry.event.id : [entry.cause, entry.changes.length]))).toEqual([
      ["r-1", 2],
      "4",
      ["s-1", 1],
    ]);
  });
});
