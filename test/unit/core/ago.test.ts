/** Times as people write them. */
import { afterEach, expect, test, vi } from "vitest";
import { parseInstant } from "#core/ago.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

test.each([
  ["2026-11-25", "2026-11-24T15:00:00.000Z"],
  ["20261125", "2026-11-24T15:00:00.000Z"],
  ["2026-11-25 00:00", "2026-11-24T15:00:00.000Z"],
  ["2026-11-25T08:30", "2026-11-24T23:30:00.000Z"],
  ["2026-11-25T08:30:15.5", "2026-11-24T23:30:15.500Z"],
  ["2026-11-25T08:30Z", "2026-11-25T08:30:00.000Z"],
  ["2026-11-25 08:30+01:00", "2026-11-25T07:30:00.000Z"],
])("%s is local time in Tokyo unless it has an offset", (text, instant) => {
  vi.stubEnv("TZ", "Asia/Tokyo");
  expect(new Date(parseInstant(text) ?? 0).toISOString()).toBe(instant);
});

test.each([
  ["90m", 5_400_000],
  ["24h", 86_400_000],
  ["7d", 604_800_000],
])("%s is that long ago", (text, agoMs) => {
  expect(Math.abs(Date.now() - agoMs - (parseInstant(text) ?? 0))).toBeLessThan(1_000);
});

test.each([
  "",
  "24",
  "yesterday",
  "2026-13-01",
  "2026-02-30",
  "20261301",
  "202611",
  "20261125 08:30",
  "2026-11-25T25:00",
  "2026-11-25Z",
  "24h ago",
])("%j is no time", (text) => {
  expect(parseInstant(text)).toBeUndefined();
});
