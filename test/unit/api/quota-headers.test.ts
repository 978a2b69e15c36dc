import { describe, expect, it } from "vitest";
import { loadConfig } from "#config/load.ts";
import { headerNames, readQuota, readRetryAfterMs } from "#api/http/headers.ts";

const names = headerNames("Svc");

describe("quota headers", () => {
  const read = (limit: string, remaining: string, seconds: string, brand = "svc"): unknown =>
    readQuota(
      {
        [`x-${brand}-ratelimit-limit`]: limit,
        [`x-${brand}-ratelimit-remaining`]: remaining,
        [`x-${brand}-ratelimit-seconds-before-refresh`]: seconds,
      },
      { names, periodMs: 60_000 },
    );

  // Shows S7.
  it("quota headers are clamped to the period and the limit", () => {
    expect(read("60", "61", "1000000000")).toEqual({
      limit: 60,
      remaining: 60,
      secondsBeforeRefresh: 60,
    });
  });

  it.each([
    ["-1", "1", "1"],
    ["NaN", "1", "1"],
    ["60", "1e3", "1"],
    ["60", "1", "-5"],
    ["0", "0", "5"],
    ["60", "", "5"],
    ["9".repeat(400), "1", "1"],
    ["60", "1", "Infinity"],
  ])("quota headers are ignored when one of them is invalid: %s %s %s", (limit, remaining, seconds) =>
    expect(read(limit, remaining, seconds)).toBeUndefined(),
  );

  it("quota headers count only under the brand of the platform", () => {
    expect(read("60", "1", "1", "other")).toBeUndefined();
    expect(() => loadConfig({ env: { SIMFLEET_BRAND: "Svc: evil\r\n" } })).toThrow(/SIMFLEET_BRAND/);
    expect(headerNames("Soracom").apiKey).toBe("X-Soracom-API-Key");
  });

  it("a Retry-After header is read in seconds or as a date and capped at one hour", () => {
    const at = (text: string): number | undefined => readRetryAfterMs({ "retry-after": text }, Date.UTC(2026, 0, 1));
    expect(at("30")).toBe(30_000);
    expect(at("Thu, 01 Jan 2026 00:00:09 GMT")).toBe(9_000);
    expect(at("Wed, 31 Dec 2025 00:00:00 GMT")).toBe(0);
    expect(at("1000000000")).toBe(3_600_000);
    expect(at("soon")).toBeUndefined();
    expect(at("-3")).toBeUndefined();
  });
});
