/** The webhook service: what it lists of webhooks and deliveries, page by page, and its operations. */
import { describe, expect, it, vi } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import type { Delivery as Sent, WebhookMessage } from "#events/webhook/webhook.ts";
import { deliveryQueues } from "#jobs/webhooks/work.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { WebhookService } from "#jobs/webhooks/open.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
import { beganAtMs, DeliveryDeps, endpointsOf, eventOf, webhookOf } from "./delivery-harness.ts";

const { redis, keys, connect, lifecycle } = openTestRedis();

const webhooks = [
  webhookOf("ops"),
  webhookOf("chat", { format: "slack", events: ["run.*"] }),
  webhookOf("plant", { profile: "plant" }),
];

function setup() {
  const own = keysWithin(keys);
  const harness = new DeliveryDeps({ redis, keys: own }, webhooks);
  const workerRegistry = openWorkerRegistry({ redis, keys: own });
  const queues = deliveryQueues({ redis, connect, keys: own, workerRegistry, clock: systemClock, lifecycle });
  const sent: WebhookMessage[] = [];
  let answer: Sent = { kind: "accepted", status: 200 };
  const runs = new WebhookService({
    log: harness.log,
    queues,
    clock: systemClock,
    profile: "default",
    sender: {
      send: (message) => {
        sent.push(message);
        return Promise.resolve(answer);
      },
    },
    endpoints: endpointsOf(webhooks, (name) => `https://${name}.example/hooks/secret-${name}?token=1`),
  });
  return { harness, runs, sent, queues, answerWith: (next: Sent) => (answer = next) };
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "none",
    (thrown: unknown) => (thrown instanceof SimfleetError ? thrown.code : String(thrown)),
  );
}

describe("the list of webhooks", () => {
  it("the list of webhooks shows each with its status and only the origin of its address", async () => {
    const { harness, runs } = setup();
    await harness.begin(eventOf(1), eventOf(2));
    await harness.attempt("ops", eventOf(1).id);
    harness.answers = [410];
    await harness.attempt("chat", eventOf(2).id);
    const list = await runs.list();
    expect(list.map(({ name, url, state, pending, reason }) => [name, url, state, pending, reason])).toEqual([
      ["chat", "https://chat.example", "stopped", 1, "it returned 410 Gone"],
      ["ops", "https://ops.example", "active", 1, null],
      ["plant", "https://plant.example", "active", 0, null],
    ]);
    expect(JSON.stringify(list)).not.toContain("secret-");
  });

  it("the list of webhooks shows the last delivery of each", async () => {
    const { harness, runs } = setup();
    const { id } = eventOf(2);
    await harness.begin(eventOf(1), eventOf(2));
    harness.answers = [410];
    await harness.attempt("chat", id);
    const [chat, , plant] = await runs.list();
    const at = new Date(beganAtMs).toISOString();
    const result = { state: "failed", attempts: 1, lastStatus: 410, lastReason: "it returned 410 Gone" };
    const times = { createdAt: at, finishedAt: at, nextAttemptAt: null };
    const event = { deliveryId: `chat.${id}`, webhook: "chat", eventId: id, eventType: "run.completed" };
    expect(chat?.lastDelivery).toEqual({ ...event, ...result, ...times });
    expect(plant?.lastDelivery).toBeNull();
  });
});

describe("the list of deliveries", () => {
  /** The ids of all deliveries, page by page. */
  const pagedIds = async (runs: WebhookService, limit: number): Promise<string[]> => {
    const seen: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await runs.deliveries({ limit, cursor });
      expect(page.deliveries.length).toBeLessThanOrEqual(limit);
      seen.push(...page.deliveries.map(({ deliveryId }) => deliveryId));
      cursor = page.nextCursor;
    }
    return seen;
  };

  it("the list of deliveries is paged newest first and shows each delivery once", async () => {
    const { harness, runs } = setup();
    const events = Array.from({ length: 25 }, (_, n) => eventOf(n, n % 3 === 0 ? { profile: "plant" } : {}));
    await harness.begin(...events);
    const wanted = events
      .toReversed()
      .flatMap(({ id, profile }) => [...(profile === "plant" ? [`plant.${id}`] : []), `ops.${id}`, `chat.${id}`]);
    for (const limit of [1, 2, 7, 100]) expect(await pagedIds(runs, limit)).toEqual(wanted);
  });

  it("the list of deliveries can be filtered by webhook and state", async () => {
    const { harness, runs } = setup();
    await harness.begin(eventOf(1), eventOf(2), eventOf(3));
    for (const n of [1, 3]) await harness.attempt("ops", eventOf(n).id);
    const page = await runs.deliveries({ webhook: "ops", state: "delivered", limit: 1 });
    expect(page.deliveries.map(({ eventId }) => eventId)).toEqual([eventOf(3).id]);
    const rest = { limit: 1, cursor: page.nextCursor ?? "" };
    const next = await runs.deliveries({ webhook: "ops", state: "delivered", ...rest });
    expect([next.deliveries.map(({ eventId }) => eventId), next.nextCursor]).toEqual([[eventOf(1).id], null]);
    expect((await runs.deliveries({ webhook: "ops", state: "pending", limit: 9 })).deliveries).toHaveLength(1);
    expect((await runs.deliveries({ webhook: "plant", limit: 9 })).deliveries).toEqual([]);
    expect(await codeOf(runs.deliveries({ webhook: "opps", limit: 9 }))).toBe("WEBHOOK_NOT_FOUND");
    expect(await codeOf(runs.deliveries({ limit: 9, cursor: "9" }))).toBe("USAGE");
  });
});

describe("webhook test messages", () => {
  it("a test message is sent at once with its own id, and its result is returned", async () => {
    const { runs, sent } = setup();
    const first = await runs.test("ops");
    const messageId = expect.stringMatching(/^msg_test-[0-9a-f]{18}$/) as unknown;
    expect(first).toEqual({ webhook: "ops", messageId, accepted: true, status: 200, reason: null });
    const data = { profile: "default", webhook: "ops" };
    const body = { type: "webhook.test", timestamp: expect.any(String) as unknown, data };
    expect([sent[0]?.id, JSON.parse(sent[0]?.body ?? "")]).toEqual([first.messageId, body]);
    const second = await runs.test("plant");
    expect(second.messageId).not.toBe(first.messageId);
    expect(JSON.parse(sent[1]?.body ?? "").data.profile).toBe("plant");
    expect(await codeOf(runs.test("constructor"))).toBe("WEBHOOK_NOT_FOUND");
  });

  it("a test message that is not accepted says why and does not change the state of its webhook", async () => {
    const { runs, answerWith, harness } = setup();
    const reason = "ops.example: ECONNREFUSED";
    answerWith({ kind: "unanswered", reason });
    expect(await runs.test("ops")).toMatchObject({ accepted: false, status: null, reason });
    answerWith({ kind: "refused", status: 410, isFinal: true, retryAfterMs: undefined });
    expect(await runs.test("ops")).toMatchObject({ accepted: false, status: 410, reason: "it returned 410 Gone" });
    expect((await harness.log.status("ops")).state).toBe("active");
  });
});

describe("deliveries sent again manually", () => {
  /** A webhook whose delivery was sent again before it had a worker. */
  async function setupRedelivered() {
    const { harness, runs, queues } = setup();
    const { id } = eventOf(1);
    await harness.begin(eventOf(1));
    await harness.attempt("ops", id);
    return { harness, queues, id, again: await runs.redeliver(`ops.${id}`) };
  }

  it("a delivery sent again manually waits for a worker", async () => {
    const { harness, queues, id, again } = await setupRedelivered();
    expect([again.state, await harness.log.due("ops", 9)]).toEqual(["pending", [id]]);
    expect(await queues.isServed("ops")).toBe(false);
  });

  it("a delivery sent again manually does not wait for its next attempt", async () => {
    const { queues, id } = await setupRedelivered();
    const work = vi.fn<(job: { eventId: string }) => Promise<WorkResult>>(() => Promise.resolve({ kind: "ended" }));
    const working = await queues.consume("ops", {
      work,
      atOnce: 1,
      restore: () => undefined,
      onIncident: ({ message }) => expect.unreachable(message),
    });
    await expect.poll(() => work.mock.calls.map(([{ eventId }]) => eventId)).toEqual([id]);
    expect(await queues.isServed("ops")).toBe(true);
    await working.stop();
  });

  it("a delivery cannot be sent again if it is no longer stored or its webhook is stopped", async () => {
    const { harness, runs } = setup();
    await harness.begin(eventOf(1), eventOf(2));
    expect(await codeOf(runs.redeliver("ops.1-1"))).toBe("DELIVERY_NOT_FOUND");
    harness.answers = [410];
    await harness.attempt("ops", eventOf(1).id);
    expect(await codeOf(runs.redeliver(`ops.${eventOf(1).id}`))).toBe("WEBHOOK_STOPPED");
    expect((await runs.resume("ops")).state).toBe("active");
    expect(await codeOf(runs.redeliver(`ops.${eventOf(1).id}`))).toBe("none");
    expect(await codeOf(runs.resume("opps"))).toBe("WEBHOOK_NOT_FOUND");
  });
});
