import { describe, expect, test } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { openAuthFailures } from "#http/auth/access.ts";

const refusal = new SimfleetError("UNAUTHENTICATED", "The token is not valid");

function setup(): { code: (ip: string) => string; passMs: (ms: number) => void; last: () => SimfleetError } {
  let nowMs = 90_000;
  let last = refusal;
  const counted = openAuthFailures({ clock: { ...systemClock, monotonicMs: () => nowMs }, maxPerMinute: 2 });
  return {
    code: (ip) => (last = counted.count(ip, refusal)).code,
    passMs: (ms) => (nowMs += ms),
    last: () => last,
  };
}

describe("failed authentications", () => {
  test.each([
    ["2001:db8:1:2::1", "2001:db8:1:2:ffff::2", "TOO_MANY_REQUESTS"],
    ["2001:db8::1", "2001:db8:0:0:5::", "TOO_MANY_REQUESTS"],
    ["2001:db8:1:2::1", "2001:db8:1:3::1", "UNAUTHENTICATED"],
    ["::ffff:10.0.0.1", "::ffff:10.0.0.2", "UNAUTHENTICATED"],
  ])("failed authentications from %s and %s count together if both are in one /64 network", (one, other, expected) => {
    const { code } = setup();
    code(one);
    code(one);
    expect(code(other)).toBe(expected);
  });

  test("failed authentications from addresses beyond the counted number share one count", () => {
    const { code } = setup();
    for (let n = 0; n < 10_000; n += 1) code(`10.1.${n >> 8}.${n & 255}`);
    expect([code("10.2.0.1"), code("10.2.0.2"), code("10.2.0.3")].at(-1)).toBe("TOO_MANY_REQUESTS");
    expect(code("10.1.0.1")).toBe("UNAUTHENTICATED");
  });
});
