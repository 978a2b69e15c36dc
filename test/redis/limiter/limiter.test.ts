import { describe, expect, it } from "vitest";
import { Limiter, type LimiterOptions } from "#limiter/limiter.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

const { redis, keys, connect } = openTestRedis();
const request = { bucket: "b", urgency: "normal" } as const;
const reading = (remaining: number, limit = 10, secondsBeforeRefresh = 30) => ({
  limit,
  remaining,
  secondsBeforeRefresh,
});
const answered = (remaining: number, limit = 10) => ({ reading: reading(remaining, limit), throttled: false });

/** Two limiters, as of two processes, on buckets that no other test has. */
function setup(options: Partial<LimiterOptions> = {}) {
  const own = keysWithin(keys);
  const make = (): Limiter => new Limiter({ redis: connect(), keys: own, ...options });
  return { one: make(), other: make(), keys: own };
}

describe("two processes on one bucket", () => {
  it("profiles of one owner are shown its bucket in every process, whatever they are called", async () => {
    const { one, other, keys: own } = setup();
    const owner = `${"x".repeat(40)}~0123456789abcdef@api.example:8443`;
    await one.state("constructor.Sim"); // before its operator is known, and so not shown later
    (await one.acquire({ ...request, bucket: `${owner}.Sim` })).answered(answered(9));
    await until("it is reported", async () => (await other.state(`${owner}.Sim`)).calls === 1);
    for (const profile of ["user", "constructor"]) await one.assign(profile, owner);
    (await one.acquire({ ...request, bucket: "toString.Sim" })).giveBack();
    expect(await other.state("constructor.Sim")).toMatchObject({ bucket: `${owner}.Sim`, calls: 1 });
    expect(await other.buckets()).toMatchObject([
      { bucket: "toString.Sim", profiles: [] },
      { bucket: `${owner}.Sim`, profiles: ["constructor", "user"] },
    ]);
    expect(await redis.exists(own.bucket(`${owner}.Sim`))).toBe(1);
  });

  it("a 429 in one process closes the bucket for both, and the error reports for how long", async () => {
    const { one, other } = setup();
    const permit = await one.acquire(request);
    permit.sending();
    permit.answered({ reading: reading(0), throttled: true });
    await until("the 429 is known", async () => (await other.state("b")).throttled === 1);
    for (const limiter of [one, other]) {
      const refusal: unknown = await limiter.acquire(request).catch((thrown: unknown) => thrown);
      expect(refusal).toMatchObject({ code: "PLATFORM_RATE_LIMITED", bucket: "b", disposition: "later" });
      const { retryAfterMs } = refusal as { retryAfterMs: number };
      expect(retryAfterMs).toBeGreaterThan(25_000);
      expect(retryAfterMs).toBeLessThan(32_000);
    }
  });

  it("a Retry-After header closes the bucket for both processes if it is longer than the window", async () => {
    const { one, other } = setup();
    (await one.acquire(request)).answered({ reading: undefined, throttled: true, retryAfterMs: 300_000 });
    await until("the 429 is known", async () => (await other.state("b")).throttled === 1);
    await expect(other.acquire(request)).rejects.toSatisfy(
      ({ retryAfterMs }: { retryAfterMs: number }) => retryAfterMs > 290_000 && retryAfterMs <= 300_000,
    );
  });

  it("two processes on one bucket report their waiting callers", async () => {
    const { one, other } = setup();
    const permit = await one.acquire(request);
    const waiting = [one.acquire(request), one.acquire(request), other.acquire(request)];
    await until("all three are in line", async () => {
      const { waiters } = await other.state("b");
      return waiters.length === 2 && waiters.reduce((sum, { waiting: count }) => sum + count, 0) === 3;
    });
    permit.answered(answered(9));
    const permits = await Promise.all(waiting);
    expect((await other.state("b")).waiters).toEqual([]);
    for (const next of permits) next.giveBack();
  });

  it("calls of the window that has not ended count among those since a time", async () => {
    const { one, other } = setup();
    (await one.acquire(request)).answered(answered(9));
    await until("it counts", async () => (await other.callsSince(0)).calls === 1);
    expect(await other.callsSince(Date.now() + 60_000)).toEqual({ calls: 0, throttled: 0 });
  });
});

describe("callers of the limiter", () => {
  it("a caller leaves the limiter's queue when its signal aborts while the others continue", async () => {
    const { one } = setup();
    const first = await one.acquire(request);
    const leaving = new AbortController();
    const gone = one.acquire({ ...request, signal: leaving.signal });
    const staying = one.acquire(request);
    leaving.abort(new Error("stopped"));
    await expect(gone).rejects.toThrow("stopped");
    await expect(one.acquire({ ...request, signal: leaving.signal })).rejects.toThrow("stopped");
    first.answered(answered(9));
    (await staying).giveBack();
    await until("nothing is in flight", async () => (await one.state("b")).inFlight === 0);
  });

  it("a caller returns an unused permit for another caller", async () => {
    const { one, other } = setup();
    (await one.acquire(request)).answered(answered(1, 2));
    const held = await one.acquire(request);
    const waiting = other.acquire(request);
    held.giveBack();
    held.giveBack(); // a second end of a permit is none
    (await waiting).answered(answered(0, 2));
    await expect(one.acquire(request)).rejects.toMatchObject({ code: "PLATFORM_RATE_LIMITED" });
  });

  it("a thousand live callers at once share what is left, the others hear when to ask again, and no permit is lost", async () => {
    const { one, other } = setup();
    const limit = 100;
    (await one.acquire(request)).answered(answered(limit - 1, limit));
    await until("the answer is known", async () => (await one.state("b")).left === limit - 1);
    const acquire = (_: unknown, n: number) => (n % 2 === 0 ? one : other).acquire({ ...request, urgency: "priority" });
    const ended = await Promise.allSettled(Array.from({ length: 1_000 }, acquire));
    const permits = ended.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
    const refusals = ended.flatMap((end) => (end.status === "rejected" ? [(end.reason as { code: string }).code] : []));
    expect(permits.length).toBeGreaterThan(0);
    expect(permits.length).toBeLessThan(limit);
    expect(new Set(refusals)).toEqual(new Set(["PLATFORM_RATE_LIMITED"]));
    for (const [n, permit] of permits.entries()) permit.answered(answered(limit - 2 - n, limit));
    await until("no permit is in flight", async () => (await one.state("b")).inFlight === 0);
  });

  it("the state says what is kept for others, and what they were seen to need", async () => {
    const { one } = setup();
    (await one.acquire(request)).answered(answered(99, 100));
    // Thirty calls of somebody else.
    (await one.acquire(request)).answered(answered(68, 100));
    await until("the answer is known", async () => (await one.state("b")).left === 68);
    const { needed, kept = 0 } = await one.state("b");
    expect(needed).toBe(30);
    expect(kept).toBeGreaterThan(20);
    expect(kept).toBeLessThan(75);
  });

  it("a caller waits for its own rate limit independently of the quota", async () => {
    const { one, other } = setup();
    const pace = { id: "r-1", callsPerMinute: 6 };
    (await one.acquire({ ...request, pace })).answered(answered(9));
    const refusal: unknown = await other.acquire({ ...request, pace }).catch((thrown: unknown) => thrown);
    expect(refusal).toMatchObject({ code: "PLATFORM_RATE_LIMITED", bucket: undefined });
    expect((refusal as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(8_000);
    (await other.acquire(request)).giveBack();
  });
});

describe("Redis errors in the limiter", () => {
  it("a Redis error reaches all waiting callers, and the bucket works again once it is fixed", async () => {
    const { one, keys: own } = setup();
    await redis.set(own.bucket("b"), "not a hash");
    const asked = await Promise.allSettled([one.acquire(request), one.acquire(request), one.acquire(request)]);
    for (const refused of asked) {
      expect(refused).toMatchObject({
        status: "rejected",
        reason: { code: "STORE_UNAVAILABLE", message: expect.stringContaining("bucket b") },
      });
    }
    await redis.del(own.bucket("b"));
    (await one.acquire(request)).answered(answered(9));
    (await one.acquire(request)).giveBack();
  });

  it("missed observations are sent to Redis after an error", async () => {
    const { one, keys: own } = setup();
    const permit = await one.acquire(request);
    await redis.rename(own.bucket("b"), `${own.prefix}:aside`);
    await redis.set(own.bucket("b"), "not a hash");
    permit.answered(answered(7));
    await expect(one.acquire(request)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await redis.rename(`${own.prefix}:aside`, own.bucket("b"));
    (await one.acquire(request)).giveBack();
    await until("nothing is in flight", async () => (await one.state("b")).inFlight === 0);
    expect(await one.state("b")).toMatchObject({ limit: 10, left: 7 });
  });
});
