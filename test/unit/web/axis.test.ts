import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countMarks, timeMarks } from "../../../web/src/pure/axis.ts";

describe("the count axis", () => {
  it.each([
    [1, 3, [0, 1]],
    [10, 3, [0, 5, 10]],
    [1_296, 4, [0, 500, 1_000]],
    [1_300, 3, [0, 500, 1_000]],
    [46, 1, [0, 46]],
    [46, 1.7, [0, 30]],
    [70_000, 4, [0, 20_000, 40_000, 60_000]],
  ])("the count axis has round marks up to %d", (max, room, marks) => {
    expect(countMarks(max, room)).toEqual(marks);
  });

  it("the count axis has no more marks than fit besides zero", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000_000 }), fc.integer({ min: 1, max: 12 }), (max, room) => {
        const marks = countMarks(max, room);
        expect(marks.length).toBeLessThanOrEqual(room + 1);
        expect(marks.every((mark) => Number.isSafeInteger(mark) && mark <= max)).toBe(true);
      }),
    );
  });
});

describe("the time axis", () => {
  const at = (...local: [number, number, number, number, number]): number => new Date(...local).getTime() / 1_000;

  it("the time axis has round local times", () => {
    const marks = timeMarks([at(2026, 10, 20, 8, 3), at(2026, 10, 20, 10, 1)], 4);
    expect(marks.map(({ text }) => text)).toEqual(["08:30", "09:00", "09:30", "10:00"]);
  });

  it("the time axis shows days for long ranges and accepts an empty range", () => {
    const marks = timeMarks([at(2026, 10, 18, 12, 0), at(2026, 10, 20, 12, 0)], 2);
    expect(marks.map(({ text }) => text)).toEqual(["11-19", "11-20"]);
    expect(timeMarks([100, 100], 5).length).toBeLessThanOrEqual(1);
  });
});
