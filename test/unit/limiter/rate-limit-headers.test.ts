/** The readers of rate-limit headers that `simfleet/limiter` offers. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { type PolicyReading, readPlatformHeaders, readRateLimitHeaders, readRetryAfter } from "#library/limiter.ts";

const read = (limit: string | undefined, policy?: string): PolicyReading[] =>
  readRateLimitHeaders({ ratelimit: limit, "ratelimit-policy": policy });
const reading = (values: Partial<PolicyReading>): PolicyReading => ({
  name: "default",
  partitionKey: "",
  limit: undefined,
  periodMs: undefined,
  remaining: undefined,
  secondsBeforeRefresh: undefined,
  ...values,
});

it("the limit and the window of a policy are joined with what is left of it", () => {
  expect(read('"default";r=50;t=30', '"default";q=100;w=60')).toEqual([
    reading({ limit: 100, periodMs: 60_000, remaining: 50, secondsBeforeRefresh: 30 }),
  ]);
});

it("several policies are read, in one field or in several", () => {
  const policies = ['"burst";q=10;w=1', '"daily";q=1000;w=86400'];
  const limits = ['"burst";r=3;t=1', '"daily";r=900;t=4000'];
  const expected = [
    reading({ name: "burst", limit: 10, periodMs: 1_000, remaining: 3, secondsBeforeRefresh: 1 }),
    reading({ name: "daily", limit: 1_000, periodMs: 86_400_000, remaining: 900, secondsBeforeRefresh: 4_000 }),
  ];
  expect(read(limits.join(", "), policies.join(","))).toEqual(expected);
  expect(readRateLimitHeaders({ ratelimit: limits, "ratelimit-policy": policies })).toEqual(expected);
  const headers = new Headers(policies.map((value): [string, string] => ["RateLimit-Policy", value]));
  for (const value of limits) headers.append("RateLimit", value);
  expect(readRateLimitHeaders(headers)).toEqual(expected);
});

it("a policy without what is left of it is read, and so is the reverse", () => {
  expect(read(undefined, '"default";q=100;w=60')).toEqual([reading({ limit: 100, periodMs: 60_000 })]);
  expect(read('"default";r=50;t=30')).toEqual([reading({ remaining: 50, secondsBeforeRefresh: 30 })]);
  expect(read('"default";r=999;pk=:dHJpYWwxMjEzMjM=:')).toEqual([
    reading({ remaining: 999, partitionKey: "dHJpYWwxMjEzMjM=" }),
  ]);
});

it("partitions of one policy are kept apart, and a policy that is described once applies to the partition", () => {
  const policy = '"user";q=9;w=60;pk=:YQ==:, "user";q=8;w=60;pk=:Yg==:';
  expect(read('"user";r=1;t=5;pk=:Yg==:', policy)).toEqual([
    reading({ name: "user", partitionKey: "YQ==", limit: 9, periodMs: 60_000 }),
    reading({ name: "user", partitionKey: "Yg==", limit: 8, periodMs: 60_000, remaining: 1, secondsBeforeRefresh: 5 }),
  ]);
  expect(read('"user";r=1;t=5;pk=:Yg==:', '"user";q=8;w=60')).toEqual([
    reading({ name: "user", partitionKey: "Yg==", limit: 8, periodMs: 60_000, remaining: 1, secondsBeforeRefresh: 5 }),
  ]);
});

it("policies that count something else than requests are left out", () => {
  const policy = '"bytes";q=65535;qu="content-bytes";w=10, "default";q=5;qu="requests";w=10';
  expect(read('"bytes";r=2000;t=4, "default";r=2;t=4', policy).map(({ name }) => name)).toEqual(["default"]);
});

it.each([
  ['"default";q=100;w=60;', "a field that is no list"],
  ["default;q=100;w=60", "a name that is no string"],
  ['"default";q=-1;w=60', "a negative limit"],
  ['"default";q=0;w=60', "a limit of nothing"],
  ['"default";q=1.5;w=60', "a limit that is no whole number"],
  ['("default");q=1;w=60', "an inner list"],
  ['"default";w=60', "no limit"],
])("a malformed policy is ignored: %s (%s)", (policy) => {
  expect(read(undefined, policy)).toEqual([]);
  expect(read('"default";r=-3', policy)).toEqual([]);
});

it("the readers never throw, and never give a value out of range, for any input", () => {
  const part = fc.constantFrom(
    '"a"',
    ";q=",
    ";w=",
    ";r=",
    ";t=",
    ";pk=:",
    ":",
    ",",
    " ",
    "9",
    "-",
    "1.5",
    "(",
    '"',
    "?1",
    "@",
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(part, { maxLength: 24 }).map((parts) => parts.join("")),
  );
  const value = fc.oneof(text, fc.array(text, { maxLength: 3 }), fc.constant(undefined));
  fc.assert(
    fc.property(value, value, value, (ratelimit, policy, retry) => {
      for (const one of readRateLimitHeaders({ ratelimit, "ratelimit-policy": policy })) {
        for (const number of [one.limit, one.remaining, one.secondsBeforeRefresh, one.periodMs]) {
          expect(number === undefined || (Number.isSafeInteger(number) && number >= 0)).toBe(true);
        }
        expect(one.periodMs ?? 1).toBeGreaterThan(0);
        expect(one.periodMs ?? 1).toBeLessThanOrEqual(31 * 86_400_000);
        expect(one.remaining ?? 0).toBeLessThanOrEqual(one.limit ?? Infinity);
      }
      const retryAfterMs = readRetryAfter({ "retry-after": retry }) ?? 0;
      expect(retryAfterMs >= 0 && retryAfterMs <= 3_600_000).toBe(true);
      readPlatformHeaders({ "x-svc-ratelimit-limit": ratelimit, "x-svc-ratelimit-remaining": policy });
    }),
    { numRuns: 2_000 },
  );
});

it("the platform's headers are read for any brand, and Retry-After in seconds or as a date", () => {
  const headers = (brand: string): Headers =>
    new Headers({
      [`X-${brand}-RateLimit-Limit`]: "60",
      [`X-${brand}-RateLimit-Remaining`]: "7",
      [`X-${brand}-RateLimit-Seconds-Before-Refresh`]: "12",
    });
  const quota = { limit: 60, remaining: 7, secondsBeforeRefresh: 12 };
  expect(readPlatformHeaders(headers("Svc"))).toEqual(quota);
  expect(readPlatformHeaders(headers("Soracom"), { brand: "Soracom", periodMs: 10_000 })).toEqual({
    ...quota,
    secondsBeforeRefresh: 10,
  });
  expect(readPlatformHeaders(headers("Other"))).toBeUndefined();
  expect(() => readPlatformHeaders({}, { brand: "a b" })).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  expect(readRetryAfter(new Headers({ "Retry-After": "3" }))).toBe(3_000);
  expect(readRetryAfter({ "retry-after": new Date(0).toUTCString() })).toBe(0);
  expect(readRetryAfter({})).toBeUndefined();
});
