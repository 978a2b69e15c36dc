import { describe, expect, it } from "vitest";
import { untilOf } from "../../../web/src/pure/freeze.ts";

describe("the end of a freeze as it is written", () => {
  const nowMs = Date.parse("2026-11-22T10:00:30Z");

  it("is on the reader's clock, and later than now", () => {
    const later = new Date(nowMs + 3_600_000);
    const written = `${later.getFullYear()}-${two(later.getMonth() + 1)}-${two(later.getDate())}T${two(later.getHours())}:${two(later.getMinutes())}`;
    expect(untilOf(written, nowMs)).toEqual({ until: "2026-11-22T11:00:00.000Z" });
    expect(untilOf("2026-11-20T10:00", nowMs)).toEqual({ fault: "Enter a time in the future." });
  });

  it("may be left open, and has to be an instant where it is not", () => {
    expect(untilOf("", nowMs)).toEqual({});
    expect(untilOf("tomorrow", nowMs)).toEqual({ fault: "Enter a date and a time." });
  });
});

function two(part: number): string {
  return String(part).padStart(2, "0");
}
