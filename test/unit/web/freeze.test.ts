import { describe, expect, it } from "vitest";
import { untilOf } from "../../../web/src/pure/freeze.ts";

describe("the end of a freeze entered in the dashboard", () => {
  const nowMs = Date.parse("2026-11-22T10:00:30Z");

  it("the end of a freeze is entered in local time and must be in the future", () => {
    const later = new Date(nowMs + 3_600_000);
    const written = `${later.getFullYear()}-${two(later.getMonth() + 1)}-${two(later.getDate())}T${two(later.getHours())}:${two(later.getMinutes())}`;
    expect(untilOf(written, nowMs)).toEqual({ until: "2026-11-22T11:00:00.000Z" });
    expect(untilOf("2026-11-20T10:00", nowMs)).toEqual({ fault: "Enter a time in the future." });
  });

  it("the end of a freeze may be empty but must otherwise be a valid time", () => {
    expect(untilOf("", nowMs)).toEqual({});
    expect(untilOf("tomorrow", nowMs)).toEqual({ fault: "Enter a date and a time." });
  });
});

function two(part: number): string {
  return String(part).padStart(2, "0");
}
