/** The life of a delivery: begun once, tried for about a day, ended once; and what ends a webhook. */
import { describe, expect, it } from "vitest";
import { Keys } from "#redis/keys.ts";
import { eventIdAt, partsOf, placeOf } from "#store/delivery-record.ts";
import { openTestRedis } from "../../support/redis.ts";
import { beganAtMs, DeliveryHouse, eventOf, webhookOf } from "./delivery-house.ts";

const { redis, keys } = openTestRedis();
let houses = 0;

function open(webhooks = [webhookOf("ops")], most?: number): DeliveryHouse {
  return new DeliveryHouse({ redis, keys: new Keys(`${keys.prefix}:${(houses += 1)}`) }, webhooks, most);
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

describe("an event", () => {
  it("is for whoever wants its type and account, and never about a webhook for the same", async () => {
    const house = open([
      webhookOf("all"),
      webhookOf("runs", { events: ["run.*"] }),
      webhookOf("plant", { events: ["run.completed"], profile: "plant" }),
      webhookOf("syncs", { events: ["sync.failed"] }),
    ]);
    const begun = await house.begin(
      eventOf(1),
      eventOf(2, { profile: "plant" }),
      eventOf(3, { type: "sim.gone" }),
      eventOf(4, { type: "webhook.failed", fields: { webhook: "all" } }),
      eventOf(5, { type: "webhook.failed", fields: { webhook: "runs" } }),
      eventOf(6, { profile: "" }),
    );
    const at = (...numbers: number[]): string[] => numbers.map((n) => eventOf(n).id);
    expect(Object.fromEntries(begun)).toEqual({ all: at(1, 2, 3, 5, 6), runs: at(1, 2, 6), plant: at(2, 6) });
  });

  it("that comes again begins nothing again, and is still to be sent until it is over", async () => {
    const house = open();
    const { id } = eventOf(1);
    for (let times = 0; times < 3; times += 1) expect([...(await house.begin(eventOf(1)))]).toEqual([["ops", [id]]]);
    expect((await house.turn("ops", id)).kind).toBe("ended");
    expect([...(await house.begin(eventOf(1)))]).toEqual([]);
    expect((await house.turn("ops", id)).kind).toBe("ended");
    expect([house.sent.length, (await house.log.newest("ops", { limit: 9 })).length]).toEqual([1, 1]);
  });
});

describe("a delivery", () => {
  it("says what happened, when and where, under an id that stays", async () => {
    const house = open();
    await house.begin(eventOf(1));
    house.answers = [500, 204];
    await house.turn("ops", eventOf(1).id);
    house.nowMs += minuteMs;
    await house.turn("ops", eventOf(1).id);
    const message = {
      ...{ url: "https://ops.example/", id: `msg_${eventOf(1).id}`, contentType: "application/json" },
      body: JSON.stringify({
        ...{ type: "run.completed", timestamp: new Date(beganAtMs).toISOString() },
        data: { profile: "default", run: "r-1" },
      }),
      ...{ secrets: [], reach: "public", deadlineMs: 15_000 },
    };
    expect(house.sent).toEqual([message, message]);
    expect(await house.delivery("ops", eventOf(1).id)).toMatchObject({
      ...{ state: "delivered", attempts: 2, lastStatus: 204, lastReason: undefined },
      ...{ createdAtMs: beganAtMs, finishedAtMs: beganAtMs + minuteMs, nextAttemptAtMs: undefined },
    });
  });

  it("is tried for about a day, at longer and longer intervals, and then failed and told of", async () => {
    const house = open();
    const { id } = eventOf(1);
    await house.begin(eventOf(1));
    house.answers = Array.from({ length: 8 }, () => 500);
    const delays: number[] = [];
    for (;;) {
      const verdict = await house.turn("ops", id);
      if (verdict.kind !== "postponed") break;
      expect(verdict.scope).toBe("job");
      // Before its time a turn sends nothing.
      const sent = house.sent.length;
      house.nowMs += verdict.delayMs - 1;
      expect(await house.turn("ops", id)).toMatchObject({ kind: "postponed", delayMs: 1 });
      expect(house.sent.length).toBe(sent);
      house.nowMs += 1;
      delays.push(verdict.delayMs);
    }
    const planned = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs, 10 * hourMs];
    expect(delays.map((ms, i) => Math.abs(ms / (planned[i] ?? 0) - 1) <= 0.1)).toEqual(planned.map(() => true));
    expect(new Set(delays.map((ms, i) => (ms / (planned[i] ?? 1)).toFixed(6))).size).toBeGreaterThan(1);
    expect(await house.delivery("ops", id)).toMatchObject({ state: "failed", attempts: 8, lastStatus: 500 });
    expect(await house.told()).toEqual([
      {
        ...{ type: "webhook.failed", webhook: "ops", delivery: `ops.${id}`, event: "run.completed" },
        reason: "it answered 500",
      },
    ]);
    expect(await house.log.pendingCount("ops")).toBe(0);
  });

  it.each([
    [429, 60 * minuteMs, 60 * minuteMs],
    [503, 48 * hourMs, 12 * hourMs],
    [503, 1, 4_500],
    [500, 60 * minuteMs, 4_500],
  ])("whose receiver answers %i and asks for %i ms waits about %i ms", async (status, retryAfterMs, leastMs) => {
    const house = open();
    await house.begin(eventOf(1));
    house.answers = [{ kind: "refused", status, isFinal: false, retryAfterMs }];
    const verdict = await house.turn("ops", eventOf(1).id);
    const delayMs = verdict.kind === "postponed" ? verdict.delayMs : -1;
    expect([delayMs >= leastMs, delayMs <= leastMs * 1.3]).toEqual([true, true]);
  });

  it.each([301, 400, 401, 404])("that meets %i is tried again: a receiver may be mended", async (status) => {
    const house = open();
    await house.begin(eventOf(1));
    house.answers = [status];
    expect((await house.turn("ops", eventOf(1).id)).kind).toBe("postponed");
  });

  it("ends once, whoever else was at it", async () => {
    const house = open();
    await house.begin(eventOf(1));
    const before = await house.delivery("ops", eventOf(1).id);
    await house.turn("ops", eventOf(1).id);
    expect(await house.log.noteTry(before, { kind: "failed", reason: "too late" })).toBe("over");
    expect((await house.delivery("ops", eventOf(1).id)).state).toBe("delivered");
    expect(await house.told()).toEqual([]);
  });

  it("is handed back by a process that stops, and left alone where its webhook is not configured", async () => {
    const house = open();
    await house.begin(eventOf(1));
    expect(await house.turn("ops", eventOf(1).id, AbortSignal.abort())).toEqual({ kind: "handed-back" });
    const without = open([]);
    expect(await without.turn("ops", eventOf(1).id)).toEqual({ kind: "ended" });
    expect(house.sent).toEqual([]);
  });

  it("that is sent again by hand has all its tries, and its history", async () => {
    const house = open();
    const { id } = eventOf(1);
    await house.begin(eventOf(1));
    house.answers = Array.from({ length: 9 }, () => 500);
    for (let tries = 0; tries < 8; tries += 1) {
      await house.turn("ops", id);
      house.nowMs += 13 * hourMs;
    }
    expect((await house.delivery("ops", id)).state).toBe("failed");
    expect(await house.log.redeliver(`ops.${id}`)).toBe("pending");
    expect(await house.log.due("ops", 9)).toEqual([id]);
    expect((await house.turn("ops", id)).kind).toBe("postponed");
    house.nowMs += hourMs;
    await house.turn("ops", id);
    expect(await house.delivery("ops", id)).toMatchObject({ state: "delivered", attempts: 10 });
    expect([await house.log.redeliver("ops.1-1"), await house.log.redeliver("nonsense")]).toEqual(["gone", "gone"]);
  });
});

describe("a webhook whose receiver answers 410", () => {
  it("is stopped until a person lets it go on: then what waited is sent, and what came meanwhile is not", async () => {
    const house = open();
    await house.begin(eventOf(1), eventOf(2), eventOf(4));
    house.answers = [410];
    await house.turn("ops", eventOf(1).id);
    expect(await house.delivery("ops", eventOf(1).id)).toMatchObject({ state: "failed", lastStatus: 410 });
    expect(await house.log.standing("ops")).toEqual({
      ...{ state: "stopped", reason: "it answered 410 Gone", stoppedAtMs: beganAtMs, dropped: 0 },
    });
    expect(await house.told()).toEqual([
      {
        ...{ type: "webhook.stopped", webhook: "ops", delivery: `ops.${eventOf(1).id}`, event: "run.completed" },
        reason: "it answered 410 Gone",
      },
    ]);
    // Another message that was out at the same time meets the same.
    await house.log.noteTry(await house.delivery("ops", eventOf(4).id), {
      kind: "stopped",
      status: 410,
      reason: "again",
    });
    expect([(await house.told()).length, (await house.log.standing("ops")).reason]).toEqual([
      1,
      "it answered 410 Gone",
    ]);
    expect([...(await house.begin(eventOf(3)))]).toEqual([]);
    expect((await house.turn("ops", eventOf(2).id)).kind).toBe("ended");
    expect(house.sent).toHaveLength(1);
    await house.log.resume("ops");
    expect(await house.log.due("ops", 9)).toEqual([eventOf(2).id]);
    await house.turn("ops", eventOf(2).id);
    expect((await house.delivery("ops", eventOf(2).id)).state).toBe("delivered");
    expect(await house.log.delivery(`ops.${eventOf(3).id}`)).toBeUndefined();
  });
});

describe("what is kept", () => {
  it("is bounded in number: the oldest make room, and one that still waited is told of", async () => {
    const house = open(undefined, 3);
    await house.begin(eventOf(1), eventOf(2));
    await house.turn("ops", eventOf(1).id);
    await house.begin(eventOf(3), eventOf(4), eventOf(10));
    const kept = await house.log.newest("ops", { limit: 9 });
    expect(kept.map(({ event }) => event.id)).toEqual([10, 4, 3].map((n) => eventOf(n).id));
    expect(await house.told()).toEqual([
      expect.objectContaining({ type: "webhook.failed", delivery: `ops.${eventOf(2).id}` }),
    ]);
    expect((await house.log.standing("ops")).dropped).toBe(1);
    // In the same hour more of them are counted and not told of.
    await house.begin(eventOf(11), eventOf(12));
    expect([(await house.log.standing("ops")).dropped, (await house.told()).length]).toEqual([3, 1]);
    house.nowMs += hourMs;
    await house.begin(eventOf(13));
    expect([(await house.log.standing("ops")).dropped, (await house.told()).length]).toEqual([4, 2]);
    expect(await house.log.due("ops", 9)).toEqual([11, 12, 13].map((n) => eventOf(n).id));
    // A turn whose delivery is gone ends.
    expect(await house.turn("ops", eventOf(2).id)).toEqual({ kind: "ended" });
  });

  it("is bounded in time", async () => {
    const house = open();
    await house.begin(eventOf(1));
    house.nowMs += 400 * 24 * hourMs;
    const late = eventOf(1, { id: `${house.nowMs}-0` });
    await house.begin(late);
    expect((await house.log.newest("ops", { limit: 9 })).map(({ event }) => event.id)).toEqual([late.id]);
    expect(await redis.pttl(house.keyOf("ops", late.id))).toBeGreaterThan(0);
  });

  it("leaves no turn behind where a record has lived its time", async () => {
    const house = open();
    await house.begin(eventOf(1));
    await redis.del(house.keyOf("ops", eventOf(1).id));
    expect([await house.log.due("ops", 9), await house.turn("ops", eventOf(1).id)]).toEqual([
      [eventOf(1).id],
      { kind: "ended" },
    ]);
    expect([await house.log.due("ops", 9), house.sent]).toEqual([[], []]);
  });

  it("of webhooks that tell of each other's failures makes no circle", async () => {
    const house = open([webhookOf("a"), webhookOf("b")], 1);
    await house.begin(eventOf(1));
    await house.begin(eventOf(2)); // both let the first go, and each is told of to the other
    const about = (await house.feed.newest({}, { limit: 9 })).events;
    expect(about).toHaveLength(2);
    house.nowMs += hourMs;
    await house.begin(...about.toReversed());
    // What they made room for was about a run again; what makes room now is about a webhook, and tells of nothing.
    const more = (await house.feed.newest({}, { limit: 9 })).events.slice(0, -2);
    house.nowMs += hourMs;
    await house.begin(...more.toReversed());
    house.nowMs += hourMs;
    await house.begin(eventOf(9, { id: `${Date.UTC(2100, 0)}-0` }));
    const all = (await house.feed.newest({}, { limit: 99 })).events;
    expect(all.every(({ fields }) => fields["event"] === "run.completed")).toBe(true);
  });
});

it("ids and places lead to each other", () => {
  for (const id of ["0-0", "1790000000000-0", "1790000000000-18446744073709551615", "5-10"]) {
    expect(eventIdAt(placeOf(id))).toBe(id);
  }
  const ids = ["1790000000000-2", "1790000000000-10", "1790000000001-0", "999-9"];
  expect(ids.map(placeOf).toSorted().map(eventIdAt)).toEqual([ids[3], ids[0], ids[1], ids[2]]);
  expect(partsOf("o-p_s.1-2")).toEqual({ webhook: "o-p_s", eventId: "1-2" });
  for (const none of ["", "ops", "ops.1", ".1-2", "a.b.1-2", "a:b.1-2"]) expect(partsOf(none)).toBeUndefined();
});
