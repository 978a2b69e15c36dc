/** The delivery queues as a worker runs them: a slow endpoint delays no other one, and lost jobs are enqueued again. */
import { expect, it, onTestFinished } from "vitest";
import { Secret } from "#core/secrets/secret.ts";
import { dayMs } from "#core/time.ts";
import { DeliveryLog } from "#jobs/webhooks/deliveries.ts";
import { openWebhooks } from "#jobs/webhooks/open.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { webhookKernel, webhookOf } from "./delivery-harness.ts";
import { openReceiver, type Receiver } from "./receiver.ts";

const { redis, keys, connect } = openTestRedis();
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** A worker's webhooks, one for each endpoint. */
function setup(receivers: Readonly<Record<string, Receiver>>) {
  const own = keysWithin(keys);
  const faults: string[] = [];
  const configured = Object.entries(receivers).map(([name, { url }]) => {
    const webhook = webhookOf(name);
    return [name, { webhook, url: () => url, secrets: () => [new Secret(secret)], faults: () => faults }];
  });
  const kernel = webhookKernel({ redis, keys: own, connect });
  const { lifecycle, feed } = kernel;
  onTestFinished(async () => void (await lifecycle.stop()));
  const incidents: string[] = [];
  const webhooks = openWebhooks(kernel, Object.fromEntries(configured));
  const consume = async (): Promise<void> => {
    for (const deliverer of await webhooks.consume(({ message }) => incidents.push(message))) {
      lifecycle.onStop("deliveries", () => deliverer.stop());
    }
  };
  const emit = (n: number): Promise<void> =>
    feed.emit({ type: "sim.gone", profile: "default", fields: { sim: `${n}` } });
  return { webhooks, consume, feed, emit, log: new DeliveryLog(kernel, 3 * dayMs), incidents, faults, own };
}

it("an endpoint that never responds does not delay other endpoints", async () => {
  await using slow = await openReceiver(secret);
  await using quick = await openReceiver(secret);
  const held = Promise.withResolvers<number>();
  slow.answerWith(() => held.promise);
  const { consume, emit, log, incidents } = setup({ slow, quick });
  await consume();
  for (let n = 0; n < 40; n += 1) await emit(n);
  await until("the quick one has all", () => quick.received.length === 40);
  expect(slow.received.length).toBeLessThanOrEqual(4);
  expect(await log.pendingCount("slow")).toBe(40);
  held.resolve(204);
  await until("the slow one has all", () => slow.received.length === 40);
  expect(incidents).toEqual([]);
});

it("a delivery job lost by the queue is enqueued again", async () => {
  await using ops = await openReceiver(secret);
  const { consume, feed, emit, log, own } = setup({ ops });
  for (let n = 0; n < 3; n += 1) await emit(n);
  const { events } = await feed.newest({}, { limit: 9 });
  // Begun by a process that died before it put the jobs in, and whose place was saved.
  for (const event of events) await log.begin("ops", event);
  await redis.hset(own.feedPlaces(), "deliveries", await feed.head());
  await consume();
  await until("all have come", () => ops.received.length === 3);
  expect(new Set(ops.received.map(({ id }) => id)).size).toBe(3);
  await until("all are noted", async () => (await log.pendingCount("ops")) === 0);
});

it("a secret file that becomes unusable is reported once while deliveries continue", async () => {
  await using ops = await openReceiver(secret);
  const { consume, emit, faults, incidents } = setup({ ops });
  await consume();
  faults.push("There is no file /run/secrets/ops-webhook.");
  for (let n = 0; n < 3; n += 1) await emit(n);
  await until("all have come", () => ops.received.length === 3);
  await until("it was reported", () => incidents.length > 0);
  expect(incidents).toEqual([
    "messages to ops continue with the previous content of a file: There is no file /run/secrets/ops-webhook.",
  ]);
});
