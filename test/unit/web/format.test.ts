import { describe, expect, it } from "vitest";
import * as format from "../../../web/src/pure/format.ts";

describe("number and time formatting", () => {
  it("a count groups its digits and agrees with its noun", () => {
    expect(format.counted(1, "row")).toBe("1 row");
    expect(format.counted(1_234_567, "row")).toBe("1,234,567 rows");
    expect(format.counted(2, "process", "processes")).toBe("2 processes");
  });

  it.each([
    [0, "0 s"],
    [0.2, "1 s"],
    [59, "59 s"],
    [60, "1 min"],
    [125, "2 min 5 s"],
    [3_600, "1 h"],
    [11_520, "3 h 12 min"],
    [187_200, "2 d 4 h"],
  ])("a duration of %d seconds is formatted as %s", (seconds, text) => {
    expect(format.duration(seconds)).toBe(text);
  });

  it.each([
    [-2, "just now"],
    [-30, "30 s ago"],
    [-300, "5 min ago"],
    [7_200, "in 2 h"],
    [-86_400 * 400, "400 d ago"],
  ])("a time %d s from now is formatted as %s", (seconds, text) => {
    const nowMs = Date.parse("2026-11-22T08:00:00Z");
    expect(format.distance(new Date(nowMs + seconds * 1_000).toISOString(), nowMs)).toBe(text);
  });

  it.each([
    [-540, "UTC+9"],
    [0, "UTC"],
    [210, "UTC-3:30"],
  ])("a zone that is %i minutes behind is %s", (minutesBehind, zone) => {
    expect(format.zoneOf({ getTimezoneOffset: () => minutesBehind } as Date)).toBe(zone);
  });

  it("a time is shown in UTC beside the reader's local time", () => {
    expect(format.utcTime("2026-11-22T08:00:05.123Z")).toBe("2026-11-22 08:00 UTC");
    expect(format.localTime("2026-11-22T08:00:05Z")).toMatch(/^2026-11-2[123] \d\d:\d\d:05 UTC([+-]\d+(:\d\d)?)?$/);
    expect(format.clockTime(Date.parse("2026-11-22T08:00:00Z"))).toMatch(/^\d\d:\d\d$/);
  });

  it.each([
    [0, 10, "0%"],
    [1, 1_000, "<1%"],
    [9_999, 10_000, ">99%"],
    [10_000, 10_000, "100%"],
    [0, 0, "0%"],
  ])("the percentage of %d of %d is 0 or 100 only when exact", (part, whole, text) => {
    expect(format.percent(part, whole)).toBe(text);
  });

  it("a field value is shown as text, and a missing one as a dash", () => {
    expect([undefined, null, "", "s1.fast", 4, { a: 1 }].map(format.valueText)).toEqual([
      "–",
      "–",
      "–",
      "s1.fast",
      "4",
      '{"a":1}',
    ]);
  });
});
