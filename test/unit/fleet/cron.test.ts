import { describe, expect, it } from "vitest";
import { localText, parseCron } from "#fleet/time/cron.ts";

describe("cron expressions", () => {
  const invalid = [
    ["", "it has nothing, and needs five"],
    ["* * *", "it has 3 fields"],
    ["0 0 1 1 * 2026 x", "it has 7 fields"],
    ["61 * * * *", "got value 61 expected range 0-59"],
    ["0 25 * * *", "got value 25"],
    ["a b c d e", "Invalid characters"],
    ["0 0 31 2 *", "day of month"],
    ["H 3 * * *", "H means a random value; use jitterSeconds"],
    ["0 H(1-5) * * *", "H(1-5) means a random value"],
    ["@reboot", "it has 1 field"],
    ["@midnight", "it has 1 field"],
    ["*/0 * * * *", "cannot repeat at every 0 time"],
  ];

  it.each(invalid)("the invalid cron expression %j is refused with an example", (text, why) => {
    expect(() => parseCron(text, "UTC")).toThrow(
      expect.objectContaining({ code: "USAGE", message: expect.stringContaining(why) }),
    );
    expect(() => parseCron(text, "UTC")).toThrow(/An example: 0 8 \* \* 1-5/);
  });

  it("a cron expression with an unknown time zone is refused", () => {
    expect(() => parseCron("0 8 * * *", "Asia/Tokio")).toThrow("Asia/Tokio is not a time zone");
  });

  it.each([
    ["0 8 * * 1-5", "Asia/Tokyo", "2026-11-20T23:00:00Z", "2026-11-22T23:00:00.000Z"],
    ["0 8 * * MON-FRI", "UTC", "2026-11-21T00:00:00Z", "2026-11-23T08:00:00.000Z"],
    ["*/10 * * * * *", "UTC", "2026-11-21T00:00:01Z", "2026-11-21T00:00:10.000Z"],
    ["0 4 1 * *", "UTC", "2026-11-21T00:00:00Z", "2026-12-01T04:00:00.000Z"],
    ["0 0 29 2 *", "UTC", "2026-11-21T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["0 0 L * *", "UTC", "2027-02-01T00:00:00Z", "2027-02-28T00:00:00.000Z"],
    ["0 9 * * 5#3", "UTC", "2026-11-01T00:00:00Z", "2026-11-20T09:00:00.000Z"],
    // A change to daylight saving time at midnight itself.
    ["0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z", "2026-09-06T04:00:00.000Z"],
  ])("the cron expression %s in %s runs next after %s at %s", (text, timezone, after, next) => {
    expect(new Date(parseCron(text, timezone).next(Date.parse(after)) ?? 0).toISOString()).toBe(next);
  });

  it.each([
    ["@hourly", "2026-11-21T01"],
    ["@daily", "2026-11-22T00"],
    ["@weekly", "2026-11-22T00"],
    ["@monthly", "2026-12-01T00"],
    ["@yearly", "2027-01-01T00"],
    ["@annually", "2027-01-01T00"],
  ])("the alias %s runs next after the start of 2026-11-21 in the hour %s", (text, hour) => {
    expect(parseCron(text, "UTC").next(Date.parse("2026-11-21T00:00:00Z"))).toBe(Date.parse(`${hour}:00:00Z`));
  });

  const changes: [cron: string, timezone: string, after: string, times: string[]][] = [
    // Put forward by half an hour at 02:00, and back at 02:00.
    ["15 2 * * *", "Australia/Lord_Howe", "2026-10-02T20:00:00Z", ["10-04 02:45", "10-05 02:15"]],
    ["45 2 * * *", "Australia/Lord_Howe", "2026-10-02T20:00:00Z", ["10-04 02:45", "10-05 02:45"]],
    ["10,20,40 2 * * 0", "Australia/Lord_Howe", "2026-10-02T20:00:00Z", ["10-04 02:40", "10-04 02:50", "10-11 02:10"]],
    ["45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", ["04-05 01:45", "04-06 01:45"]],
    ["30 * * * *", "Australia/Lord_Howe", "2026-10-03T14:00:00Z", ["10-04 01:30", "10-04 02:30", "10-04 03:30"]],
    ["*/20 * * * *", "Australia/Lord_Howe", "2026-10-03T15:15:00Z", ["10-04 02:40", "10-04 03:00", "10-04 03:20"]],
    ["*/20 * * * *", "Australia/Lord_Howe", "2026-04-04T14:35:00Z", ["04-05 01:40", "04-05 01:40", "04-05 02:00"]],
    [
      "@hourly",
      "Antarctica/Troll",
      "2026-10-24T23:30:00Z",
      ["10-25 02:00", "10-25 01:00", "10-25 02:00", "10-25 03:00"],
    ],
    // Put forward by two hours at 01:00, and back at 03:00.
    ["15 1 * * *", "Antarctica/Troll", "2026-03-28T02:00:00Z", ["03-29 03:15", "03-30 01:15"]],
    ["30 2 * * *", "Antarctica/Troll", "2026-03-28T04:00:00Z", ["03-29 04:30", "03-30 02:30"]],
    ["30 1 * * *", "Antarctica/Troll", "2026-10-24T12:00:00Z", ["10-25 01:30", "10-26 01:30"]],
    ["30 2 * * *", "Antarctica/Troll", "2026-10-24T12:00:00Z", ["10-25 02:30", "10-26 02:30"]],
    // And where clocks are put forward by an hour, as everywhere else.
    ["15 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["03-29 03:15", "03-30 02:15"]],
    ["15 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", ["10-25 02:15", "10-26 02:15"]],
    // cron-parser alone skips the second of these, and repeats 02:30 before those.
    ["*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["03-29 03:00", "03-29 03:30", "03-30 02:00"]],
    ["*/30 2,3 * * *", "Europe/Berlin", "2026-10-25T01:25:00Z", ["10-25 03:00", "10-25 03:30", "10-26 02:00"]],
  ];

  it.each(changes)(
    "the cron expression %s in %s after %s runs at %j, once each across clock changes",
    (text, timezone, after, times) => {
      const cron = parseCron(text, timezone);
      let at = Date.parse(after);
      for (const time of times) {
        at = cron.next(at) ?? 0;
        expect(localText(at, timezone)).toBe(`2026-${time}:00 ${timezone}`);
      }
    },
  );

  it.each([
    ["Australia/Lord_Howe", "2026-10-03T12:00:00Z"],
    ["Australia/Lord_Howe", "2026-04-04T12:00:00Z"],
    ["Antarctica/Troll", "2026-03-28T22:00:00Z"],
    ["Antarctica/Troll", "2026-10-24T22:00:00Z"],
  ])("a cron expression in %s from %s on yields the same times in any order of queries", (timezone, from) => {
    const cron = parseCron("5,20,35,50 0-5 * * *", timezone);
    const startMs = Date.parse(from);
    const times = new Set<number>();
    for (let at = cron.next(startMs) ?? 0; at < startMs + 30_000_000; at = cron.next(at) ?? Infinity) times.add(at);
    for (let atMs = startMs; atMs < startMs + 30_000_000; atMs += 240_000) {
      const following = [...times].filter((time) => time > atMs).toSorted((a, b) => a - b)[0];
      if (following !== undefined) expect(cron.next(atMs)).toBe(following);
    }
  });
});
