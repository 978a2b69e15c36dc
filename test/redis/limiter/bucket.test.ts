import { beforeAll, describe, expect, it } from "vitest";
import type { Reserve } from "#limiter/limiter.ts";
import type { ExchangeRequest, Observation } from "#limiter/permit-queue.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
import { type BucketReply, SimulatedBucket } from "./simulated-bucket.ts";
import { beginMs } from "./world.ts";

const { redis, keys } = openTestRedis();
beforeAll(() => SimulatedBucket.load(redis));

type Grant = BucketReply & { readonly ids: readonly number[] };

/** One process that talks to a bucket at instants of the test's choice, seconds after the start. */
class Talk {
  /** Calls that it says it still wants, those in flight included. */
  backlog = 1_000;
  /** Permits that it would take ahead. */
  ahead = 0;
  readonly #bucket: SimulatedBucket;
  readonly #id: string;
  #next = 1;

  constructor(bucket: SimulatedBucket, id: string) {
    this.#bucket = bucket;
    this.#id = id;
  }

  async ask(atS: number, want: number, reported: readonly Observation[] = []): Promise<Grant> {
    const first = this.#next;
    this.#next += want;
    return this.repeat(atS, want, first, reported);
  }

  async repeat(atS: number, want: number, first: number, reported: readonly Observation[] = []): Promise<Grant> {
    const request: ExchangeRequest = {
      want,
      ahead: this.ahead,
      firstPermitNumber: first,
      urgency: "normal",
      backlog: this.backlog,
      observations: reported,
    };
    const reply = await this.#bucket.run(beginMs + atS * 1_000, this.#bucket.arguments(this.#id, request, atS * 1_000));
    return { ...reply, ids: Array.from({ length: reply.granted }, (_, i) => first + i) };
  }

  /** Makes one call, and asks for so many permits with what its answer said. */
  async learn(said: Said, want: number): Promise<Grant> {
    const lone = await this.ask(0, 1);
    return this.ask(0.1, want, [heard(lone, 0.1, said)]);
  }
}

/** Two processes on a bucket that no other test has, what Redis keeps of it, and processes on other buckets there. */
function setup({ reserve = 0 }: { reserve?: Reserve } = {}) {
  const own = keysWithin(keys);
  const talkTo = (bucket: string, id = "one"): Talk =>
    new Talk(new SimulatedBucket(redis, own, { periodMs: 60_000, reserve, leaseMs: 45_000, bucket }), id);
  const today = async (): Promise<number[]> =>
    (await redis.hmget(own.bucket("b"), "day_calls", "day_throttled")).map(Number);
  const windows = async (): Promise<number[][]> =>
    (await redis.lrange(own.windows("b"), 0, -1)).map((text) => text.split(",").map(Number));
  return { one: talkTo("b"), other: talkTo("b", "other"), talkTo, today, windows };
}

type Said = Readonly<Record<"limit" | "remaining" | "seconds", number>> & { readonly kind?: "answered" | "throttled" };

/** What came of a granted call; it was sent at the grant and answered at `atS`. */
function heard(grant: Grant, atS: number, said: Said, nth = 0): Observation {
  return {
    permitNumber: grant.ids[nth] ?? -1,
    kind: said.kind ?? "answered",
    window: grant.window,
    serial: grant.firstSerial + nth,
    grantedAtMs: grant.nowMs,
    sentAfterMs: 0,
    receivedAtMonotonicMs: atS * 1e3,
    reading: {
      limit: said.limit,
      remaining: said.remaining,
      secondsBeforeRefresh: said.seconds,
    },
    retryAfterMs: 0,
  };
}

describe("the bucket script", () => {
  it("the bucket grants the same permits when a request is repeated after a broken connection", async () => {
    const { one, other } = setup();
    const lone = await one.ask(0, 1);
    const answer = heard(lone, 0.1, { limit: 10, remaining: 9, seconds: 50 });
    const grant = await one.ask(0.1, 4, [answer]);
    const again = await one.repeat(0.11, 4, 2, [answer]);
    expect([grant.granted, again.granted, again.inFlight]).toEqual([4, 4, 4]);
    expect((await other.ask(0.12, 8)).inFlight).toBeLessThanOrEqual(9);
  });

  describe("permits ahead of the callers", () => {
    /** One caller waits, and the process would take 64 permits ahead; `others` have spent some of a limit of 200. */
    const ahead = async (talk: Talk, atS: number, said: { remaining: number; seconds: number }): Promise<number> => {
      const lone = await talk.ask(atS, 1);
      talk.ahead = 64;
      const reply = await talk.ask(atS + 0.1, 1, [heard(lone, atS + 0.1, { limit: 200, ...said })]);
      talk.ahead = 0;
      expect(reply.granted).toBe(1);
      return reply.ahead;
    };

    it("the bucket grants a sixteenth of what is free, and counts it as in flight", async () => {
      const { one } = setup();
      expect(await ahead(one, 0, { remaining: 161, seconds: 50 })).toBe(10);
      expect((await one.ask(0.2, 0)).inFlight).toBe(11);
    });

    it.each([
      ["none near the reset", 1_000, { remaining: 161, seconds: 1 }],
      ["none of an almost spent window", 1_000, { remaining: 16, seconds: 50 }],
      ["none if it is not known how many calls are wanted", -1, { remaining: 161, seconds: 50 }],
      ["none beyond the calls that are wanted", 1, { remaining: 161, seconds: 50 }],
    ])("the bucket grants %s", async (_, backlog, said) => {
      const { one } = setup();
      one.backlog = backlog;
      expect(await ahead(one, 0, said)).toBe(0);
    });
  });

  it("each window that had calls is kept with its end, its calls, those with 429, and the limit that it had", async () => {
    const { one, windows } = setup();
    const first = await one.ask(10, 2);
    await one.ask(11, 0, [heard(first, 11, { limit: 10, remaining: 8, seconds: 49 })]);
    const refused = await one.ask(12, 1);
    await one.ask(13, 0, [heard(refused, 13, { limit: 10, remaining: 0, seconds: 47, kind: "throttled" })]);
    // The limit was raised: the response that says so is of the next window.
    const next = await one.ask(70, 1);
    await one.ask(71, 0, [heard(next, 71, { limit: 30, remaining: 29, seconds: 49 })]);
    await one.ask(400, 0);
    const [newest = [], oldest = [], ...more] = await windows();
    expect([newest.slice(1), oldest.slice(1), more]).toEqual([[1, 0, 30], [2, 1, 10], []]);
    const endsS = [oldest, newest].map(([at = 0]) => (at - beginMs) / 1_000);
    expect(endsS.map((at, i) => Math.abs(at - 60 * (i + 1)) < 1.5)).toEqual([true, true]);
  });

  it("the bucket counts the calls of a day, those of all processes, until 00:00 UTC", async () => {
    const { one, other, today } = setup();
    const dayMs = 86_400_000;
    const midnightS = (dayMs - (beginMs % dayMs)) / 1_000;
    const mine = await one.ask(midnightS - 2, 1);
    const said = { limit: 10, remaining: 9, seconds: 50 };
    const theirs = await other.ask(midnightS - 1, 1, [heard(mine, midnightS - 1, said)]);
    await one.ask(midnightS - 0.5, 0, [heard(theirs, midnightS - 0.5, { ...said, kind: "throttled" })]);
    expect(await today()).toEqual([2, 1]);
    await one.ask(midnightS, 0);
    expect(await today()).toEqual([0, 0]);
  });

  it("the bucket is not reopened by a delayed response with the previous limit", async () => {
    const { one } = setup();
    const grant = await one.learn({ limit: 100, remaining: 60, seconds: 50 }, 3);
    const refused = heard(grant, 0.2, { limit: 20, remaining: 0, seconds: 50, kind: "throttled" }, 2);
    const shut = await one.ask(0.2, 5, [refused]);
    expect([shut.granted, shut.left]).toEqual([0, 0]);
    const late = await one.ask(0.3, 5, [heard(grant, 0.3, { limit: 100, remaining: 59, seconds: 50 }, 0)]);
    expect([late.granted, late.limit, late.left]).toEqual([0, 20, 0]);
  });

  it("the bucket accepts a raised limit from a call sent after the lowered one was reported", async () => {
    const { one } = setup();
    const grant = await one.learn({ limit: 200, remaining: 100, seconds: 50 }, 2);
    const lowered = await one.ask(0.2, 1, [heard(grant, 0.2, { limit: 150, remaining: 49, seconds: 50 })]);
    expect(lowered).toMatchObject({ limit: 150, left: 49, granted: 1 });
    const raised = await one.ask(0.3, 1, [heard(lowered, 0.3, { limit: 300, remaining: 197, seconds: 50 })]);
    expect(raised).toMatchObject({ limit: 300, left: 197, granted: 1 });
  });

  it("the bucket does not hold back the last call of a window because a response is reported before it is handled", async () => {
    const { one } = setup();
    one.backlog = 12;
    let grant = await one.learn({ limit: 10, remaining: 2, seconds: 50 }, 1);
    let atS = 0.1;
    while (grant.granted === 0) grant = await one.ask((atS += grant.waitMs / 1_000), 1);
    // One call is left in this window and ten follow. The process still counts the call that was just answered.
    atS += 0.2;
    let next = await one.ask(atS, 1, [heard(grant, atS, { limit: 10, remaining: 1, seconds: 49 })]);
    expect(next).toMatchObject({ granted: 0, left: 1 });
    expect(next.waitMs).toBeLessThanOrEqual(50);
    one.backlog = 11;
    while (next.granted === 0 && atS < 5) next = await one.ask((atS += next.waitMs / 1_000), 1);
    expect(next).toMatchObject({ granted: 1, window: grant.window });
  });

  it("the bucket does not spread the calls of a last window because a response is reported before it is handled", async () => {
    const { one } = setup({ reserve: "auto" });
    const lone = await one.ask(0, 1);
    one.backlog = 100; // The process still counts the call that was just answered.
    const first = await one.ask(0.1, 99, [heard(lone, 0.1, { limit: 100, remaining: 99, seconds: 50 })]);
    const left = 99 - first.granted;
    one.backlog = left + 1;
    const answers = first.ids.map((_, i) => heard(first, 0.2, { limit: 100, remaining: 98 - i, seconds: 50 }, i));
    const held = await one.ask(0.2, left, answers);
    expect(held).toMatchObject({ granted: 0, left });
    expect(held.waitMs).toBeLessThanOrEqual(50);
    one.backlog = left;
    expect((await one.ask(0.25, left)).granted).toBe(left);
  });

  it("the bucket does not exceed the limit with probes if no response arrives", async () => {
    const { one } = setup();
    const said = { limit: 10, remaining: 9, seconds: 50 };
    await one.learn(said, 0);
    let granted = 0;
    for (let atS = 52; atS < 108; atS += 1) {
      const asking = await one.ask(atS, 1);
      granted += asking.granted;
      const lost = { ...heard(asking, atS + 0.5, said), kind: "lost", reading: undefined } as const;
      if (asking.granted > 0) await one.ask(atS + 0.5, 0, [lost]);
    }
    expect(granted).toBe(10);
    expect((await one.ask(113, 1)).granted).toBe(1);
  });

  it("the calls of a process that died count until the refresh, since the platform may have counted them", async () => {
    const { one, other } = setup();
    await one.learn({ limit: 9, remaining: 1, seconds: 60 }, 0);
    const grantedBetween = async (talk: Talk, fromS: number, untilS: number): Promise<number> => {
      let granted = 0;
      for (let atS = fromS; atS < untilS && granted === 0; atS += 0.05) granted += (await talk.ask(atS, 1)).granted;
      return granted;
    };
    expect(await grantedBetween(one, 0.3, 5)).toBe(1); // then the process dies, and its lease ends before 50 s
    expect(await grantedBetween(other, 50, 58)).toBe(0);
    expect(await grantedBetween(other, 62, 63)).toBe(1);
  });

  describe("how the platform rounds", () => {
    /** Time between the earliest and the latest possible reset after one response, ms. */
    const doubtMs = async (talk: Talk, atS: number): Promise<number> => {
      const lone = await talk.ask(atS, 1);
      const { refresh } = await talk.ask(atS, 0, [heard(lone, atS, { limit: 10, remaining: 9, seconds: 51 })]);
      return Math.round(((refresh?.latestMs ?? 0) - (refresh?.earliestMs ?? 0)) / 100) * 100;
    };
    /** Buckets, one of which has seen that the platform rounds up. */
    const setupRounding = async () => {
      const { talkTo } = setup();
      const first = talkTo("OP1@api.Sim");
      expect(await doubtMs(first, 0)).toBe(2_000);
      // The reset was at 50.5 s: the seconds were rounded up, as this response shows, which comes right after it.
      const lone = await first.ask(50.3, 1);
      const next = heard(lone, 50.52, { limit: 10, remaining: 9, seconds: 60 });
      await first.ask(50.52, 0, [{ ...next, sentAfterMs: 210 }]);
      return talkTo;
    };

    it("is known to a bucket from another of the same address", async () => {
      const talkTo = await setupRounding();
      expect(await doubtMs(talkTo("OP2@api.Credential"), 60)).toBeLessThan(2_000);
      expect(await doubtMs(talkTo("OP1@jp.Sim"), 60)).toBe(2_000);
    });

    it("is known to no other bucket once a response contradicts that", async () => {
      const talkTo = await setupRounding();
      // Rounded up or to the nearest, this window would end before 171.5 s.
      const third = talkTo("OP3@api.Sim");
      expect(await doubtMs(third, 120)).toBeLessThan(2_000);
      const late = await third.ask(171.6, 1);
      await third.ask(171.6, 0, [heard(late, 171.6, { limit: 10, remaining: 8, seconds: 0 })]);
      expect(await doubtMs(talkTo("OP4@api.Sim"), 180)).toBe(2_000);
    });
  });

  it("the bucket continues within a second after the Redis clock is set back by an hour", async () => {
    const { one, other } = setup();
    const lone = await one.ask(7_200, 1);
    const spent = heard(lone, 7_200.1, { limit: 10, remaining: 0, seconds: 50, kind: "throttled" });
    expect((await one.ask(7_200.1, 1, [spent])).granted).toBe(0);
    expect((await one.ask(7_260, 1)).granted).toBe(1); // and its answer never comes
    const asking = await other.ask(3_600, 3);
    expect(asking.granted).toBe(1);
    const after = await other.ask(3_600.1, 3, [heard(asking, 3_600.1, { limit: 10, remaining: 9, seconds: 50 })]);
    expect(after.granted).toBe(3);
    expect(after.inFlight).toBe(3);
  });
});
