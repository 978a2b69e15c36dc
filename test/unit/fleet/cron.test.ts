import { describe, expect, it } from "vitest";
import { localText, parseCron } from "#fleet/cron.ts";

describe("a cron expression", () => {
  it.each([
    ["", "it has nothing, and needs five"],
    ["* * *", "it has 3 fields"],
    ["0 0 1 1 * 2026 x", "it has 7 fields"],
    ["61 * * * *", "got value 61 expected range 0-59"],
    ["0 25 * * *", "got value 25"],
    ["a b c d e", "Invalid characters"],
    ["0 0 31 2 *", "day of month"],
    ["H 3 * * *", "H stands for a random value; use jitterSeconds"],
    ["0 H(1-5) * * *", "H(1-5) stands for a random value"],
    ["@reboot", "it has 1 field"],
    ["*/0 * * * *", "cannot repeat at every 0 time"],
  ])("is refused with an example: %j", (text, why) => {
    expect(() => parseCron(text, "UTC")).toThrow(
      expect.objectContaining({ code: "USAGE", message: expect.stringContaining(why) }),
    );
    expect(() => parseCron(text, "UTC")).toThrow(/An example: 0 8 \* \* 1-5/);
  });

  it("is refused with a time zone that there is not", () => {
    expect(() => parseCron("0 8 * * *", "Asia/Tokio")).toThrow("Asia/Tokio is no time zone");
  });

  it.each([
    ["0 8 * * 1-5", "Asia/Tokyo", "2026-11-20T23:00:00Z", "2026-11-22T23:00:00.000Z"],
    ["0 8 * * MON-FRI", "UTC", "2026-11-21T00:00:00Z", "2026-11-23T08:00:00.000Z"],
    ["@daily", "UTC", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00.000Z"],
    ["*/10 * * * * *", "UTC", "2026-11-21T00:00:01Z", "2026-11-21T00:00:10.000Z"],
    ["0 4 1 * *", "UTC", "2026-11-21T00:00:00Z", "2026-12-01T04:00:00.000Z"],
    ["0 0 29 2 *", "UTC", "2026-11-21T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["0 0 L * *", "UTC", "2027-02-01T00:00:00Z", "2027-02-28T00:00:00.000Z"],
    ["0 9 * * 5#3", "UTC", "2026-11-01T00:00:00Z", "2026-11-20T09:00:00.000Z"],
    // A change to daylight saving time at midnight itself.
    ["0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00.000Z"],
  ])("%s in %s comes next after %s at %s", (text, timezone, after, next) => {
    expect(new Date(parseCron(text, timezone).next(Date.parse(after)) ?? 0).toISOString()).toBe(next);
  });

  it("is told on the clocks of its zone", () => {
    expect(localText(Date.parse("2026-11-22T23:00:00Z"), "Asia/Tokyo")).toBe("2026-11-23 08:00:00 Asia/Tokyo");
  });
});
