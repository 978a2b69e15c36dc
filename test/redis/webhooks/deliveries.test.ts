/** The life of a delivery: started once, retried for about a day, ended once; and what stops a webhook. */
import { describe, expect, it } from "vitest";
import type { Event } from "#events/event.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
import { beganAtMs, DeliveryDeps, eventOf, webhookOf } from "./delivery-harness.ts";

const { redis, keys } = openTestRedis();

function harnessOf(webhooks = [webhookOf("ops")], max?: number): DeliveryDeps {
  return new DeliveryDeps({ redis, keys: keysWithin(keys) }, webhooks, max);
}

/** A webhook to which these events are to be sent, and what becomes of the first, which gets these answers. */
async function setup({
  events = [eventOf(1)],
  answers = [] as DeliveryDeps["answers"],
  max = undefined as number | undefined,
} = {}) {
  const harness = harnessOf(undefined, max);
  await harness.begin(...events);
  harness.answers = answers;
  const { id } = eventOf(1);
  const attempt = () => harness.attempt("ops", id);
  const delivery = () => harness.delivery("ops", id);
  return { harness, id, attempt, delivery };
}

/** A webhook that has taken an event at the second attempt, a minute after the first. */
async function setupDelivered() {
  const made = await setup({ answers: [500, 204] });
  await made.attempt();
  made.harness.nowMs += minuteMs;
  await made.attempt();
  return made;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const different = [
  webhookOf("all"),
  webhookOf("runs", { events: ["run.*"] }),
  webhookOf("plant", { events: ["run.completed"], profile: "plant" }),
  webhookOf("syncs", { events: ["sync.failed"] }),
];

describe("events for webhooks", () => {
  it("an event is sent to webhooks for its type and account but never to the webhook it concerns", async () => {
    const begun = await harnessOf(different).begin(
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

  it("a repeated event starts no new delivery and stays pending until its delivery has ended", async () => {
    const { harness, id, attempt } = await setup({ events: [] });
    for (let times = 0; times < 3; times += 1) expect([...(await harness.begin(eventOf(1)))]).toEqual([["ops", [id]]]);
    expect((await attempt()).kind).toBe("ended");
    expect([...(await harness.begin(eventOf(1)))]).toEqual([]);
    expect((await attempt()).kind).toBe("ended");
    expect([harness.sent.length, (await harness.log.newest("ops", { limit: 9 })).length]).toEqual([1, 1]);
  });
});

describe("webhook deliveries", () => {
  it("a delivery contains the event, its time, and its account under a stable id", async () => {
    const { harness, id } = await setupDelivered();
    const timestamp = new Date(beganAtMs).toISOString();
    const message = {
      url: "https://ops.example/",
      id: `msg_${id}`,
      contentType: "application/json",
      body: JSON.stringify({ type: "run.completed", timestamp, data: { profile: "default", run: "r-1" } }),
      secrets: [],
      reach: "public",
      deadlineMs: 15e3,
    };
    expect(harness.sent).toEqual([message, message]);
  });

  it("a delivery is recorded with its attempts, its last status and when it ended", async () => {
    const { delivery } = await setupDelivered();
    const times = { createdAtMs: beganAtMs, finishedAtMs: beganAtMs + minuteMs };
    const delivered = await delivery();
    expect(delivered).toMatchObject({ state: "delivered", attempts: 2, lastStatus: 204, ...times });
    expect([delivered.lastReason, delivered.nextAttemptAtMs]).toEqual([undefined, undefined]);
  });

  /** A delivery that was attempted until it failed, each time when it was due, and the delays between. */
  async function setupFailed(event = eventOf(1)) {
    const made = await setup({ events: [event], answers: Array.from({ length: 8 }, () => 500) });
    const delays: number[] = [];
    for (let result = await made.attempt(); result.kind === "postponed"; result = await made.attempt()) {
      expect(result.scope).toBe("job");
      made.harness.nowMs += result.delayMs;
      delays.push(result.delayMs);
    }
    return { ...made, delays };
  }

  it("a message about another webhook that fails is not reported: messages about it would follow", async () => {
    const about = eventOf(1, { type: "webhook.stopped", fields: { webhook: "b" } });
    const { harness, delivery } = await setupFailed(about);
    expect([(await delivery()).state, await harness.reported()]).toEqual(["failed", []]);
  });

  it("a delivery is retried for about a day with growing delays", async () => {
    const { delays } = await setupFailed();
    const planned = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs, 10 * hourMs];
    expect(delays.map((ms, i) => Math.abs(ms / (planned[i] ?? 0) - 1) <= 0.1)).toEqual(planned.map(() => true));
    expect(new Set(delays.map((ms, i) => (ms / (planned[i] ?? 1)).toFixed(6))).size).toBeGreaterThan(1);
  });

  it("a delivery that is not taken within about a day fails with an event", async () => {
    const { harness, id, delivery } = await setupFailed();
    expect(await delivery()).toMatchObject({ state: "failed", attempts: 8, lastStatus: 500 });
    const about = { webhook: "ops", delivery: `ops.${id}`, event: "run.completed" };
    expect(await harness.reported()).toEqual([{ type: "webhook.failed", ...about, reason: "it returned 500" }]);
    expect(await harness.log.pendingCount("ops")).toBe(0);
  });

  it("a delivery is not attempted before its time", async () => {
    const { harness, attempt } = await setup({ answers: Array.from({ length: 7 }, () => 500) });
    for (let n = 1; n < 8; n += 1) {
      const result = await attempt();
      harness.nowMs += result.kind === "postponed" ? result.delayMs - 1 : 0;
      expect(await attempt()).toMatchObject({ kind: "postponed", delayMs: 1 });
      expect(harness.sent).toHaveLength(n);
      harness.nowMs += 1;
    }
  });

  it.each([
    [429, 60 * minuteMs, 60 * minuteMs],
    [503, 48 * hourMs, 12 * hourMs],
    [503, 1, 4_500],
    [500, 60 * minuteMs, 4_500],
  ])(
    "a delivery answered with %i and a Retry-After of %i ms waits about %i ms",
    async (status, retryAfterMs, minMs) => {
      const { attempt } = await setup({ answers: [{ kind: "refused", status, isFinal: false, retryAfterMs }] });
      const result = await attempt();
      const delayMs = result.kind === "postponed" ? result.delayMs : -1;
      expect([delayMs >= minMs, delayMs <= minMs * 1.3]).toEqual([true, true]);
    },
  );

  it.each([301, 400, 401, 404])(
    "a delivery with status %i is retried since the endpoint may be fixed",
    async (status) => {
      const { attempt } = await setup({ answers: [status] });
      expect((await attempt()).kind).toBe("postponed");
    },
  );

  it.each(["an attempt", "a redelivery"])(
    "a delivery whose next attempt was set by %s with a clock that was ahead is attempted at once",
    async (what) => {
      const isAttempt = what === "an attempt";
      const { harness, id, attempt, delivery } = await setup({ answers: isAttempt ? [500, 500] : [500] });
      await attempt();
      harness.nowMs += 10 * hourMs;
      await (isAttempt ? attempt() : harness.log.redeliver(`ops.${id}`));
      harness.nowMs -= 10 * hourMs;
      const sent = harness.sent.length;
      expect((await attempt()).kind).toBe("ended");
      expect(harness.sent).toHaveLength(sent + 1);
      expect(await delivery()).toMatchObject({ state: "delivered" });
    },
  );

  it("a delivery ends once even if several processes attempt it", async () => {
    const { harness, attempt, delivery } = await setup();
    const before = await delivery();
    await attempt();
    expect(await harness.log.noteTry(before, { kind: "failed", reason: "too late" })).toBe("over");
    expect((await delivery()).state).toBe("delivered");
    expect(await harness.reported()).toEqual([]);
  });

  it("a delivery that is sent again manually has all attempts again and keeps its history", async () => {
    const { harness, id, attempt, delivery } = await setup({ answers: Array.from({ length: 9 }, () => 500) });
    for (let tries = 0; tries < 8; tries += 1) {
      await attempt();
      harness.nowMs += 13 * hourMs;
    }
    expect((await delivery()).state).toBe("failed");
    await harness.log.redeliver(`ops.${id}`);
    expect(await harness.log.due("ops", 9)).toEqual([id]);
    expect((await attempt()).kind).toBe("postponed");
    harness.nowMs += hourMs;
    await attempt();
    expect(await delivery()).toMatchObject({ state: "delivered", attempts: 10 });
  });

  it("a delivery that is unknown is not sent again", async () => {
    const { harness, attempt } = await setup();
    await attempt();
    for (const unknown of ["ops.1-1", "nonsense"]) await harness.log.redeliver(unknown);
    expect(await harness.log.due("ops", 9)).toEqual([]);
  });
});

describe("failing webhooks", () => {
  it("a webhook is failing after three failed attempts in a row, and active again after a success", async () => {
    const events = [eventOf(1), eventOf(2), eventOf(3), eventOf(4)];
    const { harness } = await setup({ events, answers: [500, 500, 500, 200] });
    const emitted = async (): Promise<string[]> =>
      (await harness.feed.newest({}, { limit: 9 })).events.map(({ type, fields }) => `${type} ${fields["reason"]}`);
    for (const n of [1, 2]) await harness.attempt("ops", eventOf(n).id);
    expect([(await harness.log.status("ops")).state, await emitted()]).toEqual(["active", []]);
    await harness.attempt("ops", eventOf(3).id);
    expect(await harness.log.status("ops")).toMatchObject({ state: "failing", reason: "it returned 500" });
    expect(await emitted()).toEqual(["webhook.failing it returned 500"]);
    await harness.attempt("ops", eventOf(4).id);
    expect(await harness.log.status("ops")).toMatchObject({ state: "active", reason: undefined });
    expect((await emitted())[0]).toBe("webhook.recovered ");
  });
});

// Shows S12.
describe("stopped webhooks", () => {
  const reason = "it returned 410 Gone";

  it("a webhook that gets a 410 stops, which is reported once", async () => {
    const { harness, id, attempt, delivery } = await setup({ events: [eventOf(1), eventOf(4)], answers: [410] });
    await attempt();
    expect(await delivery()).toMatchObject({ state: "failed", lastStatus: 410 });
    expect(await harness.log.status("ops")).toEqual({ state: "stopped", reason, dropped: 0 });
    const about = { webhook: "ops", delivery: `ops.${id}`, event: "run.completed" };
    expect(await harness.reported()).toEqual([{ type: "webhook.stopped", ...about, reason }]);
    // Another message that was out at the same time meets the same.
    const other = await harness.delivery("ops", eventOf(4).id);
    await harness.log.noteTry(other, { kind: "stopped", status: 410, reason: "again" });
    expect([(await harness.reported()).length, (await harness.log.status("ops")).reason]).toEqual([1, reason]);
  });

  it("a stopped webhook sends nothing until a user resumes it and then only its backlog", async () => {
    const { harness, attempt } = await setup({ events: [eventOf(1), eventOf(2)], answers: [410] });
    await attempt();
    expect([...(await harness.begin(eventOf(3)))]).toEqual([]);
    expect((await harness.attempt("ops", eventOf(2).id)).kind).toBe("ended");
    expect(harness.sent).toHaveLength(1);
    await harness.log.resume("ops");
    expect(await harness.log.due("ops", 9)).toEqual([eventOf(2).id]);
    await harness.attempt("ops", eventOf(2).id);
    expect((await harness.delivery("ops", eventOf(2).id)).state).toBe("delivered");
    expect(await harness.log.delivery(`ops.${eventOf(3).id}`)).toBeUndefined();
  });
});

describe("the delivery log", () => {
  it("the delivery log is limited in number, and dropping a pending delivery is reported", async () => {
    const { harness, attempt } = await setup({ events: [eventOf(1), eventOf(2)], max: 3 });
    await attempt();
    await harness.begin(eventOf(3), eventOf(4), eventOf(10));
    const kept = await harness.log.newest("ops", { limit: 9 });
    expect(kept.map(({ event }) => event.id)).toEqual([10, 4, 3].map((n) => eventOf(n).id));
    expect(await harness.reported()).toEqual([
      expect.objectContaining({ type: "webhook.failed", delivery: `ops.${eventOf(2).id}` }),
    ]);
    // A turn whose delivery is gone ends.
    expect(await harness.attempt("ops", eventOf(2).id)).toEqual({ kind: "ended" });
  });

  it("dropped deliveries are all counted, and reported once an hour", async () => {
    const { harness } = await setup({ events: [1, 2, 3, 4].map((n) => eventOf(n)), max: 3 });
    const counts = async () => [(await harness.log.status("ops")).dropped, (await harness.reported()).length];
    expect(await counts()).toEqual([1, 1]);
    await harness.begin(eventOf(11), eventOf(12));
    expect(await counts()).toEqual([3, 1]);
    harness.nowMs += hourMs;
    await harness.begin(eventOf(13));
    expect(await counts()).toEqual([4, 2]);
    expect(await harness.log.due("ops", 9)).toEqual([11, 12, 13].map((n) => eventOf(n).id));
  });

  it("the delivery log is limited in time", async () => {
    const { harness } = await setup();
    harness.nowMs += 400 * 24 * hourMs;
    const late = eventOf(1, { id: `${harness.nowMs}-0` });
    await harness.begin(late);
    expect((await harness.log.newest("ops", { limit: 9 })).map(({ event }) => event.id)).toEqual([late.id]);
    expect(await redis.pttl(harness.keyOf("ops", late.id))).toBeGreaterThan(0);
  });

  /** Two webhooks that keep one delivery each: an event lets the one before it go, which an event reports. */
  const setupFull = () => {
    const harness = harnessOf([webhookOf("a"), webhookOf("b")], 1);
    const begin = async (...events: Event[]) => {
      harness.nowMs += hourMs;
      await harness.begin(...events);
    };
    const reported = async () => (await harness.feed.newest({}, { limit: 99 })).events.toReversed();
    return { begin, reported };
  };

  it("webhooks that report each other's failures cause no loop", async () => {
    const { begin, reported } = setupFull();
    await begin(eventOf(1));
    await begin(eventOf(2)); // both let the first go, and each is reported to the other
    const about = await reported();
    expect(about).toHaveLength(2);
    await begin(...about);
    // What they made room for was about a run again; what makes room now is about a webhook, and reports nothing.
    await begin(...(await reported()).slice(2));
    await begin(eventOf(9, { id: `${Date.UTC(2100, 0)}-0` }));
    expect((await reported()).every(({ fields }) => fields["event"] === "run.completed")).toBe(true);
  });
});
