import { describe, expect, it } from "vitest";
import { emptyWindow, paused, resumed, runOf, withEvents } from "../../../web/src/pure/events/event-window.ts";

const event = (id: string) => ({ id, type: "sync.completed" as const, at: "", profile: "default", fields: {} });
const ids = (events: readonly { id: string }[]): string[] => events.map(({ id }) => id);

describe("the event window", () => {
  it("the event window shows each event once and newest first for any arrival order", () => {
    const first = withEvents(emptyWindow, [event("9-0"), event("10-2"), event("10-10")]);
    const second = withEvents(first, [event("10-10"), event("11-0"), event("2-0")]);
    expect(ids(second.shown)).toEqual(["11-0", "10-10", "10-2", "9-0", "2-0"]);
  });

  it("the event window stays unchanged while paused and catches up when resumed", () => {
    const before = paused(withEvents(emptyWindow, [event("1-0")]));
    const meanwhile = withEvents(withEvents(before, [event("2-0")]), [event("3-0")]);
    expect(ids(meanwhile.shown)).toEqual(["1-0"]);
    expect(meanwhile.aside).toHaveLength(2);
    expect(ids(resumed(meanwhile).shown)).toEqual(["3-0", "2-0", "1-0"]);
    expect(resumed(meanwhile).isPaused).toBe(false);
  });

  it("the event window is limited to 500 events", () => {
    const many = Array.from({ length: 2_000 }, (_, i) => event(`${i}-0`));
    const { shown } = withEvents(emptyWindow, many);
    expect(shown).toHaveLength(500);
    expect(shown[0]?.id).toBe("1999-0");
  });
});

describe("the run of an event", () => {
  it("the run of an event is in its run field or in its cause", () => {
    expect(runOf({ fields: { run: "r-1", cause: "s-1" } })).toBe("r-1");
    expect(runOf({ fields: { cause: "r-2", by: "run" } })).toBe("r-2");
    expect(runOf({ fields: { cause: "s-1", by: "external" } })).toBeUndefined();
    expect(runOf({ fields: {} })).toBeUndefined();
  });
});
