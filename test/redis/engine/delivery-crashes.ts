/** Deliveries of an event to a webhook, to be killed: each ends once, and an endpoint recognizes what it gets twice. */
import { expect } from "vitest";
import { keysWithin, type TestRedis } from "../../support/redis.ts";
import { DeliveryDeps, eventOf, webhookOf } from "../webhooks/delivery-harness.ts";
import type { CrashCase, CrashSubject } from "./crashes.ts";

/** @param answers how the endpoint answers, the last one from then on */
function begun(place: TestRedis, answers: readonly number[]): CrashSubject {
  const keys = keysWithin(place.keys);
  const webhook = webhookOf("hook");
  const harness = new DeliveryDeps({ redis: place.redis, keys }, [webhook]);
  const event = eventOf(1);
  const state = async (): Promise<string> => {
    const found = await harness.log.delivery(`hook.${event.id}`);
    return found?.state ?? "none";
  };
  const remaining = [...answers];
  return {
    async work(around) {
      const process = harness.process(around);
      if (!(await process.begin(event)).has("hook")) return;
      harness.answers = [remaining.length > 1 ? (remaining.shift() ?? 0) : (remaining[0] ?? 0)];
      const result = await process.attempt("hook", event.id);
      if (result.kind === "postponed") harness.nowMs += result.delayMs;
    },
    state,
    isOver: async () => ["delivered", "failed"].includes(await state()),
    async checkEnd() {
      const delivery = await harness.delivery("hook", event.id);
      expect(new Set(harness.sent.map(({ id }) => id))).toEqual(new Set([`msg_${event.id}`]));
      expect(delivery.attempts).toBeLessThanOrEqual(harness.sent.length);
      expect(await harness.log.pendingCount("hook")).toBe(0);
      const reported = await harness.reported();
      expect(reported).toHaveLength(delivery.state === "delivered" ? 0 : 1);
      return `${delivery.state}, ${(await harness.log.status("hook")).state}`;
    },
  };
}

export const deliveryCases = (place: TestRedis): readonly CrashCase[] => [
  {
    name: "a delivery",
    begin: () => begun(place, [204]),
    end: "delivered, active",
    states: ["none", "pending", "delivered"],
  },
  {
    name: "a delivery that is retried",
    begin: () => begun(place, [503, 500, 204]),
    end: "delivered, active",
    states: ["none", "pending", "delivered"],
  },
  {
    name: "a delivery that fails for a day",
    begin: () => begun(place, [500]),
    end: "failed, failing",
    states: ["none", "pending", "failed"],
  },
  {
    name: "a delivery that the endpoint rejects for good",
    begin: () => begun(place, [410]),
    end: "failed, stopped",
    states: ["none", "pending", "failed"],
  },
];
